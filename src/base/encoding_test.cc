#include "base/encoding.h"

#include <gtest/gtest.h>

namespace once {
namespace {

TEST(Base64Url, BytesComeBackFromTheirText) {
  Bytes bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(base64url_decode(base64url_encode(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Base64Url, OtherTextIsRefused) {
  for (const char* text : {"A", "AB", "AAAAA", "a+b/", "ab=", "a b"}) {
    EXPECT_FALSE(base64url_decode(text).has_value()) << text;
  }
}

TEST(Base64, IsThatOfTheStandard) {
  // RFC 4648, section 10.
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {{"", ""},
                                                                      {"f", "Zg=="},
                                                                      {"fo", "Zm8="},
                                                                      {"foo", "Zm9v"},
                                                                      {"foob", "Zm9vYg=="},
                                                                      {"fooba", "Zm9vYmE="},
                                                                      {"foobar", "Zm9vYmFy"},
                                                                      {"\xfb\xff", "+/8="}};
  for (const auto& [bytes, text] : kCases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
  EXPECT_EQ(base64url_encode("\xfb\xff"), "-_8");
}

TEST(Base64, BytesComeBackFromTheirText) {
  Bytes bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Base64, OtherTextIsRefused) {
  for (const char* text : {"=", "====", "A===", "AA=", "AA", "AAE", "AB==", "-_8=", " AAA", "AAA ",
                           "AAA\n", "A=AA", "Zg==Zg=="}) {
    EXPECT_FALSE(base64_decode(text).has_value()) << text;
  }
}

TEST(Percent, TextComesBack) {
  std::string text;
  for (int i = 0; i < 256; ++i) text += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(text)), text);
  EXPECT_EQ(percent_encode("a/b c%\xc3\xa4"), "a%2Fb%20c%25%C3%A4");
  EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(percent_decode("%c3%A4+"), "\xc3\xa4+");
}

TEST(Percent, ASignWithoutTwoDigitsIsRefused) {
  for (const char* text : {"%", "%2", "%zz", "a%2", "%2g", "%+1", "%-1", "% 1"}) {
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
  }
}

TEST(Hex, TwoSmallDigitsAByte) {
  using namespace std::string_view_literals;
  EXPECT_EQ(hex_encode("\0\x0f\xf0\xff"sv), "000ff0ff");
  EXPECT_EQ(hex_encode(""), "");
}

TEST(AppendPart, H32_PartsOfANameCannotBeTakenForOthers) {
  std::string one, other;
  append_part(one, "a");
  append_part(one, "bc");
  append_part(other, "ab");
  append_part(other, "c");
  EXPECT_EQ(one, "1:a2:bc");
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace once

#include "server/header_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace once::server {
namespace {

constexpr std::string_view kHeader = "GET / HTTP/1.1\r\nHost: a\r\nX:\ty\r\n\r\n";

bool is_refused(std::string_view bytes) { return !HeaderScan().find_end(bytes).has_value(); }

// The status of the refusal; 0 if there is none.
int judged(std::string_view first, std::string_view fields) {
  const std::string header = std::string(first) + "\r\n" + std::string(fields) + "\r\n";
  const auto refusal = judge_header(header);
  return refusal ? refusal->status : 0;
}
int judged(std::string_view fields) { return judged("POST /a HTTP/1.1", fields); }

TEST(HeaderScan, RefusesAControlCharacterWhereverItStands) {
  for (std::size_t at = 1; at < 40; ++at) {
    for (const char c : {'\0', '\x01', '\n', '\v', '\f'}) {
      std::string header = "G" + std::string(40, 'x') + "\r\n\r\n";
      EXPECT_FALSE(is_refused(header));
      header[at] = c;
      EXPECT_TRUE(is_refused(header)) << at;
    }
    std::string header = "G" + std::string(40, '\xe9') + "\r\n\r\n";
    header[at] = '\t';
    EXPECT_FALSE(is_refused(header)) << at;
  }
}

TEST(HeaderScan, FindsTheEndHoweverTheBytesArrive) {
  const std::string bytes = std::string(kHeader) + "\r\nrest";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    HeaderScan scan;
    std::size_t arrived = 0;
    auto end = scan.find_end("");
    while (end && !*end && arrived < bytes.size()) {
      arrived = std::min(arrived + piece, bytes.size());
      end = scan.find_end(std::string_view(bytes).substr(0, arrived));
    }
    ASSERT_TRUE(end && *end) << piece;
    EXPECT_EQ(**end, kHeader.size()) << piece;
  }
}

TEST(HeaderScan, RefusesALineEndThatIsNotBothOfThemAsSoonAsItCame) {
  EXPECT_TRUE(is_refused("GET / HTTP/1.1\n"));
  EXPECT_TRUE(is_refused("GET / HTTP/1.1\rH"));
  EXPECT_TRUE(is_refused("GET / HTTP/1.1\r\r"));
  EXPECT_TRUE(is_refused("GET / HTTP/1.1\r\nHost: a\n"));
  EXPECT_TRUE(is_refused("GET / HTTP/1.1\r\nHost: a\r\n\n"));
  EXPECT_TRUE(is_refused(std::string_view("GET / HTTP/1.1\r\nX: \0", 20)));
  EXPECT_FALSE(is_refused("GET / HTTP/1.1\r"));
}

TEST(HeaderScan, RefusesALineThatContinuesAnother) {
  EXPECT_TRUE(is_refused("GET / HTTP/1.1\r\nX: a\r\n b"));
  EXPECT_TRUE(is_refused("GET / HTTP/1.1\r\nX: a\r\n\tb"));
  EXPECT_TRUE(is_refused(" GET / HTTP/1.1\r\n"));
  HeaderScan in_pieces;
  EXPECT_TRUE(in_pieces.find_end("GET / HTTP/1.1\r\n").has_value());
  EXPECT_FALSE(in_pieces.find_end("GET / HTTP/1.1\r\n ").has_value());
}

TEST(HeaderJudgement, ABodyHasOneLengthOrIsInChunks) {
  const std::string host = "Host: a\r\n";
  EXPECT_EQ(judged(host), 0);
  EXPECT_EQ(judged(host + "Content-Length: 5\r\n"), 0);
  EXPECT_EQ(judged(host + "transfer-encoding:\tCHUNKED \r\n"), 0);
  EXPECT_EQ(judged(host + "Content-Length: 5\r\ncontent-length: 5\r\n"), 400);
  for (const char* length : {"", "+5", "-5", "5, 5", "0x5", "5 5", "5;", "5.0", "1e1"}) {
    EXPECT_EQ(judged(host + "Content-Length: " + length + "\r\n"), 400) << length;
  }
  for (const char* coding :
       {"", "gzip", "identity", "chunked, chunked", "gzip, chunked", "chunked, gzip", "xchunked",
        "chunked;a=b", "\"chunked\"", ",chunked"}) {
    EXPECT_EQ(judged(host + "Transfer-Encoding: " + coding + "\r\n"), 501) << coding;
  }
  const std::string chunked = host + "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(judged(chunked + "Transfer-Encoding: chunked\r\n"), 501);
  EXPECT_EQ(judged(chunked + "Content-Length: 5\r\n"), 400);
  EXPECT_EQ(judged("POST /a HTTP/1.0", chunked), 400);
}

TEST(HeaderJudgement, ARequestNamesOneHost) {
  EXPECT_EQ(judged(""), 400);
  EXPECT_EQ(judged("Host: a\r\nHost: a\r\n"), 400);
  EXPECT_EQ(judged("Host : a\r\n"), 400);
  EXPECT_EQ(judged("POST /a HTTP/1.0", ""), 0);
  EXPECT_EQ(judged("POST /a HTTP/1.0", "Host: a\r\nhost: b\r\n"), 400);
  for (const char* host : {"a", "a.b-c:80", "127.0.0.1:7600", "[::1]", "[::1]:7600", "a:"}) {
    EXPECT_EQ(judged("Host: " + std::string(host) + "\r\n"), 0) << host;
  }
  for (const char* host : {"", "a b", "a,b", "u@a", "a/b", "a:b", "a:1:2", ":80", "[::1", "[]",
                           "[::1]x", "http://a", "a#b", "a?b", "a\\b", "a:999999", "\xc3\xbc"}) {
    EXPECT_EQ(judged("Host: " + std::string(host) + "\r\n"), 400) << host;
  }
}

TEST(HeaderJudgement, ATargetThatIsWrittenOutWholeIsOfTheSameHost) {
  const auto of_host = [](const std::string& target) {
    return judged("GET " + target + " HTTP/1.1", "Host: a.b:80\r\n");
  };
  EXPECT_EQ(of_host("http://a.b:80/x"), 0);
  EXPECT_EQ(of_host("HTTP://A.b"), 0);
  EXPECT_EQ(of_host("http://c/x"), 400);
  EXPECT_EQ(of_host("http://a.b:81/x"), 400);
  EXPECT_EQ(of_host("http://u@a.b/x"), 400);
  EXPECT_EQ(of_host("http:///x"), 400);
  EXPECT_EQ(of_host("https://a.b/x"), 400);
  EXPECT_EQ(judged("GET http://a/x HTTP/1.0", ""), 400);
}

TEST(HeaderJudgement, ATargetIsUsedWithoutItsHost) {
  EXPECT_EQ(origin_form("/x?q=http://a/"), "/x?q=http://a/");
  EXPECT_EQ(origin_form("http://a/x?q"), "/x?q");
  EXPECT_EQ(origin_form("HTTPS://a"), "/");
  EXPECT_EQ(origin_form("http://a?q"), "/?q");
  EXPECT_EQ(origin_form("*"), "*");
}

}  // namespace
}  // namespace once::server

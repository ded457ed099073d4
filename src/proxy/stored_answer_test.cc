#include "proxy/stored_answer.h"

#include <gtest/gtest.h>

namespace once::proxy {
namespace {

api::Response some_answer() {
  api::Response response{207, {}, std::string("a\0\xff\r\n", 5)};
  response.headers.add("Set-Cookie", "a=1");
  response.headers.add("Set-Cookie", "b=\xe9");
  response.headers.add("X-Empty", "");
  return response;
}

TEST(StoredAnswer, ComesBackAsItWas) {
  const Result<StoredAnswer> back = decode_answer(encode(some_answer()));
  ASSERT_TRUE(back.has_value());
  EXPECT_FALSE(back->without_body);
  EXPECT_EQ(back->response.status, 207);
  EXPECT_EQ(back->response.body, some_answer().body);
  ASSERT_EQ(back->response.headers.fields().size(), 3U);
  EXPECT_EQ(back->response.headers.fields()[1].name, "Set-Cookie");
  EXPECT_EQ(back->response.headers.fields()[1].value, "b=\xe9");
  EXPECT_EQ(back->response.headers.fields()[2].value, "");
}

TEST(StoredAnswer, WithoutItsBodyTellsStatusAndLength) {
  const Result<StoredAnswer> back = decode_answer(encode_without_body(some_answer()));
  ASSERT_TRUE(back.has_value());
  EXPECT_TRUE(back->without_body);
  EXPECT_EQ(back->response.status, 207);
  EXPECT_EQ(back->body_bytes, 5U);
}

TEST(StoredAnswer, IsRefusedWhenAnyByteIsOffOrMissing) {
  const Bytes record = encode(some_answer());
  for (std::size_t i = 0; i < record.size(); ++i) {
    Bytes off = record;
    off[i] = static_cast<char>(off[i] ^ 1);
    EXPECT_FALSE(decode_answer(off).has_value()) << i;
    EXPECT_FALSE(decode_answer(record.substr(0, i)).has_value()) << i;
  }
  EXPECT_FALSE(decode_answer(record + "x").has_value());
}

}  // namespace
}  // namespace once::proxy

// The one place where headers are written.
#include "server/wire.h"

#include <gtest/gtest.h>

namespace once::server {
namespace {

const std::string kFirst = "application/json\r\nSet-Cookie: admin=1";

api::Response answer() {
  api::Response response{200, {}, "{}"};
  response.headers.add("Content-Type", kFirst);
  response.headers.add("X-Line\r\nSet-Cookie", "admin=2");
  response.headers.add("X Space", "admin=3");
  response.headers.add("", "admin=4");
  response.headers.add("X-Null", std::string("a\0admin=5", 9));
  response.headers.add("X-Sound", "t\xc3\xa4st\t1");
  return response;
}

void expect_sound(const std::string& head) {
  EXPECT_EQ(head.find("admin"), std::string::npos) << head;
  EXPECT_EQ(head.find("Set-Cookie"), std::string::npos) << head;
  EXPECT_NE(head.find("X-Sound: t\xc3\xa4st\t1\r\n"), std::string::npos) << head;
}

TEST(WrittenHeaders, NothingWithAControlCharacterBecomesAHeader) {
  expect_sound(encode(answer(), {}, Time{}));
  expect_sound(encode_head(answer(), {}, Time{}));
}

}  // namespace
}  // namespace once::server

#include "base/printable_address.h"

#include <gtest/gtest.h>

namespace once {
namespace {

TEST(PrintableAddress, NeverHasThePassword) {
  const auto expect_shown = [](std::string_view address, std::string_view shown) {
    EXPECT_EQ(printable_address(address), shown);
  };
  expect_shown("redis://:s3cret@host:6379/0", "redis://:***@host:6379/0");
  expect_shown("rediss://user:s3cret@host?ca=/a", "rediss://user:***@host?ca=/a");
  expect_shown("amqp://user:s3/cr@et@host/v", "amqp://user:***@host/v");
  expect_shown("redis://user:a:b@host", "redis://user:***@host");
}

TEST(PrintableAddress, OfAnAddressWithoutAPasswordIsThatAddress) {
  for (const std::string_view address :
       {"redis://host:6379/0", "redis://user@host:6379", "redis://user:@host", "/var/lib/a:b@c",
        "http://127.0.0.1:7600", "s3://bucket/prefix?endpoint=http://a:1/@", "memory:", ""}) {
    EXPECT_EQ(printable_address(address), address);
  }
}

}  // namespace
}  // namespace once

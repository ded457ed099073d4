// The proxy from outside: what is sent once, what is replayed, and what frees a key.
#include <gtest/gtest.h>

#include "testing/proxy_process.h"

namespace once::testing {
namespace {

std::string created(const std::string&, int number) {
  return http_answer("201 Created", "order " + std::to_string(number),
                     "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nLocation: /orders/" +
                         std::to_string(number) + "\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
}

std::string without_replayed(std::string head) {
  const std::string mark = "Idempotent-Replayed: true\r\n";
  const std::size_t at = head.find(mark);
  return at == std::string::npos ? head : head.erase(at, mark.size());
}

TEST(Proxy, TheFirstRequestGoesThroughAndItsAnswerIsReplayedByteForByte) {
  Upstream upstream(created);
  ProxyProcess proxy(upstream.url(), "memory:");
  ASSERT_TRUE(proxy.running()) << proxy.ready_line();
  RawHttp client(proxy.port());
  const auto first = client.call("POST", "/orders?x=1", "a body", key_header("k"));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status, 201) << first->body;
  EXPECT_EQ(first->body, "order 1");
  EXPECT_EQ(first->header("Date"), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(first->header("Idempotent-Replayed"), "");
  const auto again = client.call("POST", "/orders?x=1", "a body", key_header("\"k\""));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->header("Idempotent-Replayed"), "true");
  EXPECT_EQ(without_replayed(again->head), first->head);
  EXPECT_EQ(again->body, first->body);
  EXPECT_EQ(upstream.requests(), 1);
  EXPECT_EQ(proxy.terminate(), 0);
}

}  // namespace
}  // namespace once::testing

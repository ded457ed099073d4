// The bounds of a server, as its options set them.
#include <gtest/gtest.h>

#include <chrono>

#include "testing/raw_http.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAsText = "Content-Type: text/plain\r\n";

TEST(Bounds, OfABodyAreThoseThatWereAskedForAndADocumentHasTheStores) {
  ServerProcess server("memory:", {"--max-body", "100"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  EXPECT_EQ(peer.call("POST", "/v1/logs/s", std::string(100, 'x'), kAsText)->status, 201);
  const std::string large(101, 'x');
  EXPECT_EQ(peer.call("PUT", "/v1/docs/d", large, "If-None-Match: *\r\n")->status, 201);
  EXPECT_EQ(peer.call("POST", "/v1/logs/s", large, kAsText)->status, 413);
}

TEST(Bounds, OfHeadersAreThoseThatWereAskedFor) {
  ServerProcess server("memory:", {"--max-header", "400"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  const auto padded = [](int bytes) { return "Padding: " + std::string(bytes, 'x') + "\r\n"; };
  EXPECT_EQ(peer.call("GET", "/healthz", "", padded(100))->status, 200);
  EXPECT_EQ(peer.call("GET", "/healthz", "", padded(400))->status, 431);
}

TEST(Bounds, AConnectionWithoutARequestEndsWhenItsTimeIsUp) {
  ServerProcess server("memory:", {"--idle-timeout", "50ms", "--threads", "1"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp peer(server.port());
  EXPECT_TRUE(peer.hung_up(1min));
}

TEST(Bounds, OnesThatMakeNoSenseAreRefusedByName) {
  for (const auto& [option, value] : {
           std::pair("--max-body", "0"),
           std::pair("--max-header", "many"),
           std::pair("--threads", "257"),
           std::pair("--idle-timeout", "75 s"),
           std::pair("--receive-timeout", "0s"),
           std::pair("--send-timeout", "2h"),
           std::pair("--request-timeout", "61s"),
       }) {
    ChildProcess once(ONCE_BINARY,
                      {"serve", "--store", "memory:", "--listen", "127.0.0.1:0", option, value});
    EXPECT_EQ(once.wait(), 64) << option;
  }
}

}  // namespace
}  // namespace once::testing

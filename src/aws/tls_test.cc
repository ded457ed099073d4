// Which certificates the client accepts.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "aws/client.h"
#include "testing/code_of.h"
#include "testing/tls_peer.h"

namespace once::aws {
namespace {

using testing::code_of;
using testing::TlsPeer;

Result<Response> send(const TlsPeer& peer, const std::string& ca_file) {
  const auto client = Client::open({.endpoint = peer.url(),
                                    .region = "eu-west-1",
                                    .service = "dynamodb",
                                    .credentials = fixed_credentials({"AKIDEXAMPLE", "secret"}),
                                    .ca_file = ca_file})
                          .value();
  return client->send({.body = "{}"}, std::chrono::steady_clock::now() + std::chrono::seconds(20));
}

TEST(AwsTls, WhoNobodyVouchesForGetsNoRequest) {
  const TlsPeer peer("IP:127.0.0.1");
  EXPECT_EQ(code_of(send(peer, "")), ErrorCode::unavailable);
  EXPECT_EQ(peer.connections(), 1);
  EXPECT_EQ(peer.requests(), 0);
}

TEST(AwsTls, WhoIsVouchedForUnderAnotherNameGetsNoRequest) {
  const TlsPeer peer("IP:127.0.0.2,DNS:localhost");
  EXPECT_EQ(code_of(send(peer, peer.certificate_file())), ErrorCode::unavailable);
  EXPECT_EQ(peer.connections(), 1);
  EXPECT_EQ(peer.requests(), 0);
}

TEST(AwsTls, WhoIsVouchedForIsServed) {
  const TlsPeer peer("IP:127.0.0.1");
  const Result<Response> answer = send(peer, peer.certificate_file());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "{}");
}

TEST(AwsTls, AFileOfCertificatesThatIsNotThereVouchesForNobody) {
  const TlsPeer peer("IP:127.0.0.1");
  EXPECT_EQ(code_of(send(peer, "/nonexistent")), ErrorCode::unavailable);
  EXPECT_EQ(peer.requests(), 0);
}

}  // namespace
}  // namespace once::aws

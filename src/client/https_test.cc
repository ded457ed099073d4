// The client through TLS. Whom the process trusts is read once, so one suite has all the peers.
#include <gtest/gtest.h>

#include <fstream>

#include "client/http_client.h"
#include "testing/code_of.h"
#include "testing/tls_peer.h"

namespace once::client {
namespace {

using testing::code_of;
using testing::TlsPeer;

constexpr Duration kPatience = std::chrono::seconds(30);
const api::Request kRequest{"POST", "/v1/claims/a", {}, "{}"};

struct Peers {
  TlsPeer trusted{"IP:127.0.0.1", TlsPeer::After::goes_on};
  TlsPeer misnamed{"DNS:elsewhere.example"};
  TlsPeer unknown{"IP:127.0.0.1"};
  testing::TempDir directory;

  Peers() {
    const std::string both = (directory.path() / "authorities.pem").string();
    std::ofstream file(both);
    for (const TlsPeer* peer : {&trusted, &misnamed}) {
      file << std::ifstream(peer->certificate_file()).rdbuf();
    }
    file.close();
    ::setenv("SSL_CERT_FILE", both.c_str(), 1);
  }
};

Peers& peers() {
  static Peers all;
  return all;
}

TEST(HttpsClient, CarriesRequestsOverOneConnection) {
  HttpClient client(peers().trusted.url());
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.call(kRequest, kPatience);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->body, "{}");
  }
  EXPECT_EQ(peers().trusted.connections(), 1);
}

TEST(HttpsClient, WhomNobodyVouchesForGetsNoRequest) {
  const auto answer = HttpClient(peers().unknown.url()).call(kRequest, kPatience);
  EXPECT_EQ(code_of(answer), ErrorCode::unavailable);
  EXPECT_NE(answer.error().message.find("certificate"), std::string::npos)
      << answer.error().message;
  EXPECT_EQ(peers().unknown.requests(), 0);
}

TEST(HttpsClient, WhoIsSomebodyElseGetsNoRequest) {
  EXPECT_EQ(code_of(HttpClient(peers().misnamed.url()).call(kRequest, kPatience)),
            ErrorCode::unavailable);
  EXPECT_EQ(peers().misnamed.requests(), 0);
}

TEST(HttpsClient, WhoDoesNotSpeakTlsIsUnavailable) {
  peers();
  const testing::Listener plain = testing::listen_on_loopback();
  const std::string url = "https://127.0.0.1:" + std::to_string(plain.port);
  EXPECT_EQ(code_of(HttpClient(url).call(kRequest, std::chrono::milliseconds(50))),
            ErrorCode::unavailable);
  ::close(plain.socket);
}

}  // namespace
}  // namespace once::client

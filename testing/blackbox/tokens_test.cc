// Who is let into a server, from outside.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "once/open.h"
#include "primitives/keys.h"
#include "testing/needs_store.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/servers/needs.h"
#include "testing/servers/redis_server.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

std::string token_field(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\":\"") + name.size() + 4;
  return json.substr(at, json.find('"', at) - at);
}

std::string bearing(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }

int status_of(const ServerProcess& server, const std::string& headers = "") {
  return RawHttp(server.port()).call("GET", "/v1/claims", "", headers)->status;
}

// What a command prints, without the end of the line.
std::string printed(const std::vector<std::string>& arguments) {
  ChildProcess once(ONCE_BINARY, arguments);
  std::string line = once.read_line().value_or("");
  EXPECT_EQ(once.wait(), 0);
  return line;
}

TEST(Tokens, AServerStaysClosedWhenItsLastTokenIsRevokedAndAfterARestart) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  ServerProcess server(store);
  ASSERT_TRUE(server.running()) << server.ready_line();
  EXPECT_EQ(status_of(server), 200);
  const auto made = RawHttp(server.port()).call("POST", "/v1/tokens", "{}");
  ASSERT_EQ(made->status, 201);
  const std::string bearer = bearing(token_field(made->body, "token"));
  EXPECT_EQ(status_of(server, bearer), 200);
  const std::string path = "/v1/tokens/" + token_field(made->body, "id");
  EXPECT_EQ(RawHttp(server.port()).call("DELETE", path, "", bearer)->status, 204);
  EXPECT_EQ(status_of(server), 401);
  EXPECT_EQ(status_of(server, bearer), 401);
  EXPECT_EQ(server.terminate(), 0);
  server.start();
  ASSERT_TRUE(server.running()) << server.ready_line();
  EXPECT_EQ(status_of(server), 401);
  EXPECT_EQ(RawHttp(server.port()).call("POST", "/v1/tokens", "{}")->status, 401);
  // Who has the directory has the last word.
  EXPECT_EQ(server.terminate(), 0);
  const std::string token =
      printed({"token", "new", "--store", store, "--expires", "90d", "--field", "token"});
  server.start();
  EXPECT_EQ(status_of(server, bearing(token)), 200);
}

TEST(Tokens, AStoreThatIsEmptiedBehindAServerDoesNotOpenIt) {
  ONCE_NEEDS_SERVER(RedisServer);
  const RedisServer redis;
  const std::string token =
      printed({"token", "new", "--store", redis.address(), "--field", "token"});
  ServerProcess server(redis.address());
  ASSERT_TRUE(server.running()) << server.ready_line();
  EXPECT_EQ(status_of(server, bearing(token)), 200);
  redis.cli("flushall");
  // Within two seconds the server has read that there are no tokens.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (status_of(server, bearing(token)) == 200 && std::chrono::steady_clock::now() < deadline) {
    EXPECT_EQ(status_of(server), 401);
  }
  EXPECT_EQ(status_of(server, bearing(token)), 401);
  EXPECT_EQ(status_of(server), 401);
}

TEST(Tokens, ADamagedRecordKeepsNoServerFromStarting) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const std::string token = printed({"token", "new", "--store", store, "--field", "token"});
  {
    const auto opened = open_store(store).value();
    Write write = put(keys::token("bad"), "no record of a token", anything());
    write.version = Version{7};
    ASSERT_TRUE(committed(opened->commit({&write, 1}).value()));
  }
  ServerProcess server(store);
  ASSERT_TRUE(server.running()) << server.ready_line();
  EXPECT_EQ(status_of(server), 401);
  EXPECT_EQ(status_of(server, bearing(token)), 200);
  const auto listed = RawHttp(server.port()).call("GET", "/v1/tokens", "", bearing(token));
  EXPECT_NE(listed->body.find(R"("damaged":["bad"])"), std::string::npos) << listed->body;
}

TEST(Tokens, ATokenIsNotInTheListOfProcesses) {
  const ServerProcess server("memory:", {"--token", "s3cret"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  std::ifstream file("/proc/" + std::to_string(server.pid()) + "/cmdline");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(line.find("--token"), std::string::npos);
  EXPECT_EQ(line.find("s3cret"), std::string::npos) << line;
}

TEST(Tokens, AFollowersTokenIsNotLogged) {
  const TempDir dir;
  const std::string log = (dir.path() / "log").string();
  const int errors = ::open(log.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ChildProcess once(ONCE_BINARY,
                    {"serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--log", "text"},
                    errors);
  ::close(errors);
  const std::string line = once.read_line().value_or("");
  const std::size_t colon = line.rfind(':', line.find(" on "));
  const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(colon + 1)));
  const auto made = RawHttp(port).call("POST", "/v1/tokens", R"({"read_only":true})");
  const std::string token = token_field(made->body, "token");
  const std::string follow = "/v1/logs/s?follow=true&access_token=";
  const std::string traced =
      "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
  RawHttp follower(port);
  follower.send("GET", follow + token, "", traced);
  EXPECT_EQ(follower.receive()->header("Content-Type"), "text/event-stream");
  EXPECT_EQ(RawHttp(port).call("GET", follow + "wrong-" + token, "", traced)->status, 401);
  ::kill(once.pid(), SIGTERM);
  EXPECT_EQ(once.wait(), 0);
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("/v1/logs/s"), std::string::npos) << text;
  EXPECT_EQ(text.find(token), std::string::npos) << text;
}

}  // namespace
}  // namespace once::testing

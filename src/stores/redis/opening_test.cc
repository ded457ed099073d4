// What is found out before a server is used, and said in plain words.
#include <openssl/err.h>

#include "stores/redis/store_fixture.h"
#include "testing/certificate.h"
#include "testing/code_of.h"

namespace once::testing {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(5);

class RedisOpening : public RedisTest {
 protected:
  void SetUp() override { ONCE_NEEDS_SERVER(RedisServer); }

  void serve(std::vector<std::string> arguments = {}) {
    server_ = std::make_unique<RedisServer>(std::move(arguments));
  }
  RedisOptions options() const { return {.port = server_->port(), .timeout = kTimeout}; }
  std::string described() { return open_redis(options()).value()->describe(); }
};

TEST_F(RedisOpening, AServerThatSyncsBeforeItAnswersPromisesThat) {
  serve();
  EXPECT_EQ(described(), "redis://127.0.0.1:" + std::to_string(server_->port()) +
                             "/0, synced before every answer");
}

TEST_F(RedisOpening, PersistenceThatCanLoseClaimsIsSaidInPlainWords) {
  serve();
  server_->cli("config set appendfsync everysec");
  EXPECT_TRUE(described().ends_with(
      "; MAY LOSE CLAIMS: a crash of the machine loses up to two seconds (appendfsync everysec)"));
  server_->cli("config set appendfsync no");
  EXPECT_TRUE(described().ends_with(
      "; MAY LOSE CLAIMS: a crash of the machine loses what was not yet written (appendfsync no)"));
  server_->cli("config set appendonly no");
  EXPECT_TRUE(described().ends_with(
      "; MAY LOSE CLAIMS: a restart loses everything (appendonly is no, and no snapshots)"));
  server_->cli("config set save '60 1'");
  EXPECT_TRUE(
      described().ends_with("; MAY LOSE CLAIMS: a crash loses what came after the last "
                            "snapshot (appendonly is no)"));
}

TEST_F(RedisOpening, EvictionThatCanLoseClaimsIsSaidInPlainWords) {
  serve({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  EXPECT_TRUE(described().ends_with(
      "; MAY LOSE CLAIMS: when its memory is full it throws out live claims (maxmemory-policy "
      "allkeys-lru; noeviction keeps them)"));
  server_->cli("config set maxmemory-policy noeviction");
  EXPECT_TRUE(described().ends_with("/0, synced before every answer"));
}

TEST_F(RedisOpening, AFailoverThatCanLoseClaimsIsSaidInPlainWords) {
  serve({"--repl-diskless-sync-delay", "0"});
  const RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(server_->port())});
  while (server_->cli("info replication").find("connected_slaves:1") == std::string::npos) {
  }
  EXPECT_TRUE(described().ends_with(
      "; MAY LOSE CLAIMS: a failover to a replica loses what had not reached it"));
  const auto refused = open_redis({.port = replica.port(), .timeout = kTimeout});
  EXPECT_EQ(code_of(refused), ErrorCode::unsupported);
  EXPECT_EQ(refused.error().message, "redis: this is a replica; Once needs its master");
}

TEST_F(RedisOpening, APasswordIsAskedForAndNeverTold) {
  serve({"--requirepass", "s3cret"});
  RedisOptions with = options();
  EXPECT_EQ(code_of(open_redis(with)), ErrorCode::denied);
  with.password = "wrong-one";
  const auto refused = open_redis(with);
  EXPECT_EQ(code_of(refused), ErrorCode::denied);
  EXPECT_EQ(refused.error().message.find("wrong-one"), std::string::npos);
  with.password = "s3cret";
  const auto store = open_redis(with);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_TRUE(wins(commit_one(**store, fresh(put(key_at("k"), Bytes("v"), absent())))));
  EXPECT_EQ((*store)->describe().find("s3cret"), std::string::npos);
}

TEST_F(RedisOpening, AUserThatMayNotDoAllIsDeniedBeforeAnythingIsWritten) {
  serve();
  server_->cli("acl setuser app on '>pw' '~once:*' +@all");
  RedisOptions with = options();
  with.user = "app";
  with.password = "pw";
  const auto allowed = open_redis(with);
  ASSERT_TRUE(allowed.has_value()) << allowed.error().message;
  EXPECT_TRUE(wins(commit_one(**allowed, fresh(add(key_at("k", 1), 1)))));
  server_->cli("acl setuser app -zadd");
  const auto refused = open_redis(with);
  EXPECT_EQ(code_of(refused), ErrorCode::denied);
  EXPECT_EQ(refused.error().message, "redis: this user may not use ZADD");
}

// By docs/stores.md.
TEST_F(RedisOpening, AUserThatMayDoWhatIsDocumentedMayDoAll) {
  serve();
  server_->cli(
      "acl setuser app on '>pw' '~once:*' +get +set +del +zadd +zrem +zrange +zrangebylex "
      "+zrevrangebylex +pexpiretime +pexpireat +persist +time +scan +script +eval +evalsha +info "
      "+select");
  RedisOptions with = options();
  with.user = "app";
  with.password = "pw";
  with.database = 1;
  const auto opened = open_redis(with);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  RedisStore& store = **opened;
  const Time soon = store.now() + std::chrono::hours(1);
  const std::vector<Write> writes = {fresh(put(key_at("h"), Bytes("v"), absent(), soon)),
                                     fresh(add(key_at("h", 1), 1, anything(), soon)),
                                     fresh(add(key_at("h", 2), 1))};
  EXPECT_TRUE(wins(store.commit(writes)));
  EXPECT_EQ(store.scan({.partition = {"h", ""}}).value().entries.size(), 3U);
  EXPECT_EQ(store.list({}).value().items.size(), 3U);
  EXPECT_EQ(store.sweep(10).value().examined, 2U);
  EXPECT_TRUE(wins(commit_one(store, fresh(erase(key_at("h"), anything())))));
  EXPECT_TRUE(wins(commit_one(store, fresh(erase(key_at("h", 2), anything())))));
}

TEST_F(RedisOpening, DatabasesAreKeptApart) {
  serve();
  RedisOptions other = options();
  other.database = 3;
  const auto zero = open_redis(options()).value();
  const auto three = open_redis(other).value();
  ASSERT_TRUE(wins(commit_one(*zero, fresh(put(key_at("k"), Bytes("v"), absent())))));
  EXPECT_EQ(three->get(key_at("k")).value(), std::nullopt);
  ASSERT_TRUE(wins(commit_one(*three, fresh(put(key_at("k"), Bytes("v"), absent())))));
  other.database = 99;
  EXPECT_EQ(code_of(open_redis(other)), ErrorCode::denied);
}

TEST_F(RedisOpening, WhatANewerVersionWroteIsLeftAlone) {
  serve();
  server_->cli("set once:format 2");
  EXPECT_EQ(code_of(open_redis(options())), ErrorCode::unsupported);
  EXPECT_EQ(server_->cli("dbsize"), "1");
}

TEST_F(RedisOpening, TlsIsSpokenToTheServerThatWasMeantOnly) {
  const TempDir directory;
  make_certificate(directory.path(), "IP:127.0.0.1");
  const std::string certificate = directory.path() / "certificate.pem";
  const std::string key = directory.path() / "key.pem";
  const std::uint16_t tls_port = free_port();
  serve({"--tls-port", std::to_string(tls_port), "--tls-cert-file", certificate, "--tls-key-file",
         key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no"});
  RedisOptions with = options();
  with.port = tls_port;
  with.tls = true;
  EXPECT_EQ(code_of(open_redis(with)), ErrorCode::denied) << "nobody vouches for it";
  with.ca_file = certificate;
  const auto store = open_redis(with);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Bytes large(3'000'000, 'v');
  ASSERT_TRUE(wins(commit_one(**store, fresh(put(key_at("k"), large, absent())))));
  EXPECT_EQ((*store)->get(key_at("k")).value()->value, Value(large));
  const std::uint64_t trips = (*store)->counts().round_trips;
  ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR);
  EXPECT_EQ((*store)->get(key_at("k")).value()->value, Value(large));
  EXPECT_EQ((*store)->counts().round_trips, trips + 1) << "what others left behind is not its own";
  with.host = "localhost";
  EXPECT_EQ(code_of(open_redis(with)), ErrorCode::denied) << "not its name";
  with.ca_file = directory.path() / "none.pem";
  EXPECT_EQ(code_of(open_redis(with)), ErrorCode::invalid);
  with = options();
  with.timeout = std::chrono::seconds(1);
  with.tls = true;
  with.ca_file = certificate;
  EXPECT_EQ(code_of(open_redis(with)), ErrorCode::unavailable) << "it speaks no TLS there";
}

}  // namespace
}  // namespace once::testing

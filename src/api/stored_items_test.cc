#include "api/stored_items.h"

#include <gtest/gtest.h>

#include "api/tokens.h"
#include "primitives/claim_record.h"
#include "primitives/document_record.h"
#include "primitives/keys.h"
#include "primitives/log_record.h"
#include "primitives/prepared_effects.h"
#include "primitives/record.h"
#include "primitives/store_secret.h"
#include "primitives/tally_record.h"

namespace once::api {
namespace {

using wire::Listed;

Bytes document(std::string type) {
  documents::DocumentRecord record;
  record.exists = true;
  record.stamp = {1};
  record.content = {.bytes = "{}", .type = std::move(type)};
  return documents::encode(record);
}

Listed listed(Key key, Value value, Time expiry = kNever) {
  return {std::move(key), {std::move(value), {1}, expiry}};
}

// One of every kind of item, under its key.
std::vector<Listed> one_of_each() {
  const std::string home = keys::log_home("default", "s");
  const Key doc = keys::document("default", "d");
  const Key tally = keys::tally("default", "t");
  const logs::LogRecord batch = logs::record_of_batch("", {{"e"}});
  const auto grant = tokens::encode(tokens::Grant{.name_space = "n"});
  return {
      listed(keys::claim("default", "c"), claims::encode({.state = {}, .fence = 1})),
      listed(keys::commit_id("default", "id"), effects::encode(effects::Receipt{})),
      listed(doc, document("application/json")),
      listed(keys::document_change(doc, "id"), documents::encode_marker(Bytes(16, 'h'))),
      listed({keys::log_batches(home, "c"), 1}, logs::encode(batch)),
      listed(keys::log_batch_id(home, "c", "b"),
             logs::encode(logs::BatchId{.at = 1, .count = 1, .hash = Bytes(16, 'h')})),
      listed({tally.partition, 1},
             tallies::encode(tallies::TallyBucket{.state = "s"}, TallyKind::distinct)),
      listed(keys::tally_meta(tally), tallies::encode(tallies::TallyMeta{.monoid = "sum"})),
      listed(keys::tally_id(tally, 0, "id"), tallies::encode(tallies::TallyMarker{})),
      listed(keys::token(std::string(64, 'a')), grant),
  };
}

TEST(StoredItems, EveryKindDecodesUnderItsKey) {
  for (const Listed& one : one_of_each()) {
    const Result<void> ok = check_stored(one);
    EXPECT_TRUE(ok) << to_text(one.key) << ": " << ok.error().message;
  }
  const std::string home = keys::log_home("default", "s");
  EXPECT_TRUE(check_stored(listed(keys::log_mark(home, "c2", 1), std::int64_t{5})));
  EXPECT_TRUE(check_stored(listed(keys::log_head(home, "t"), std::int64_t{5})));
  EXPECT_TRUE(check_stored(listed(keys::tally("default", "t"), std::int64_t{5})));
  const claims::ClaimRecord mark = claims::mark_at(Time(Duration(1'000)), Duration(5));
  EXPECT_TRUE(check_stored(listed(keys::seen("default", "seen"), claims::encode_mark(mark),
                                  claims::expiry_of_mark(mark))));
  const wire::Listed old = listed(keys::claim("default", "seen"), claims::encode_mark(mark),
                                  later(mark.kept_until, claims::kFenceMemory));
  EXPECT_TRUE(check_stored(old));
  const wire::Listed moved = in_today_form(old);
  EXPECT_EQ(moved.key, keys::seen("default", "seen"));
  EXPECT_EQ(claims::decode_mark(moved.item).value(), mark);
}

TEST(StoredItems, WhatIsStoredUnderAnotherKindOfKeyIsRefused) {
  const std::vector<Listed> all = one_of_each();
  for (const Listed& key : all) {
    for (const Listed& value : all) {
      if (key.key == value.key) continue;
      EXPECT_FALSE(check_stored({key.key, value.item})) << to_text(key.key) << to_text(value.key);
    }
    EXPECT_FALSE(check_stored(listed(key.key, "rot")));
    EXPECT_FALSE(check_stored(listed(key.key, "")));
    Listed elsewhere = key;
    elsewhere.key.partition.part += "x/y";
    const bool is_id = key.key.partition.part.find('/') != std::string::npos;
    EXPECT_EQ(check_stored(elsewhere).has_value(), is_id) << to_text(elsewhere.key);
  }
}

TEST(StoredItems, KeysThatNoProgramWritesAreRefused) {
  const Value claim = claims::encode({.state = {}, .fence = 1});
  EXPECT_FALSE(check_stored(listed(keys::claim("default", ""), claim)));
  EXPECT_FALSE(check_stored(listed(keys::claim("default", "a\r\nb"), claim)));
  EXPECT_FALSE(check_stored(listed(keys::claim("default", std::string(513, 'n')), claim)));
  EXPECT_FALSE(check_stored(listed(keys::claim("a b", "c"), claim)));
  EXPECT_FALSE(check_stored(listed({keys::claim("default", "c").partition, 1}, claim)));
  EXPECT_FALSE(check_stored(listed(keys::store_secret(), encode(StoreSecret{}))));
  EXPECT_FALSE(check_stored(listed(keys::birth_mark(), "x")));
}

TEST(StoredItems, AContentTypeThatWouldBeginAnotherHeaderIsRefused) {
  for (const std::string type : {"text/html\r\nSet-Cookie: a=b", "a\nb", "a\x7f", "\x1b[2J"}) {
    EXPECT_FALSE(check_stored(listed(keys::document("default", "d"), document(type)))) << type;
  }
  EXPECT_FALSE(
      check_stored(listed(keys::document("default", "d"), document(std::string("a\0b", 3)))));
}

TEST(StoredItems, ATokenIsOfAHashAndOfANamespace) {
  const Bytes admin = tokens::encode(tokens::Grant{});
  EXPECT_TRUE(check_stored(listed(keys::token(std::string(64, '0')), admin)));
  EXPECT_FALSE(check_stored(listed(keys::token(std::string(63, '0')), admin)));
  EXPECT_FALSE(check_stored(listed(keys::token(std::string(64, 'g')), admin)));
  EXPECT_FALSE(check_stored(listed(keys::token(std::string(64, '0')),
                                   tokens::encode(tokens::Grant{.name_space = "a/b"}))));
  EXPECT_TRUE(is_token(listed(keys::token(std::string(64, '0')), admin)));
}

}  // namespace
}  // namespace once::api

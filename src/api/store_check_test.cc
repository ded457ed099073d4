// What `once verify` finds in a store's items.
#include "api/store_check.h"

#include "api/service_fixture.h"
#include "primitives/claim_record.h"
#include "primitives/keys.h"
#include "primitives/log_record.h"
#include "primitives/log_stream.h"

namespace once::api {
namespace {

class StoreCheckTest : public ServiceFixture {
 protected:
  // All items, as an embedded store lists them.
  std::vector<ListPage::Listed> items() {
    std::vector<ListPage::Listed> all = store_->list({"", "", kMaxPage}).value().items;
    std::ranges::sort(all, std::less{}, &ListPage::Listed::key);
    return all;
  }

  static StoreCheck check(const std::vector<ListPage::Listed>& items) {
    StoreCheck check;
    for (const ListPage::Listed& listed : items) check.take(listed);
    check.finish();
    return check;
  }

  void fill() {
    for (int i = 0; i < 4; ++i) post("/v1/logs/l", R"({"events":[{"data":1},{"data":2}]})");
    post("/v1/logs/named", R"({"events":[{"data":1}],"batch":"b"})");
    post("/v1/logs/closed", R"({"events":[{"data":1}]})");
    post("/v1/logs/closed/close", "{}");
    post("/v1/logs/gone", R"({"events":[{"data":1}]})");
    post("/v1/logs/gone/close", "{}");
    call("DELETE", "/v1/logs/gone");
    post("/v1/logs/gone", R"({"events":[{"data":1}]})");
    post("/v1/claims/c", "{}");
    post("/v1/seen", R"({"ids":["s"]})");
    call("PUT", "/v1/docs/d", "x", {{"If-None-Match", "*"}});
    post("/v1/tallies/t", R"({"kind":"sum","add":5,"id":"i"})");
    post("/v1/commit", R"({"id":"c","tallies":[{"key":"t","kind":"sum","add":1}]})");
  }

  // Without the item of this key.
  std::vector<ListPage::Listed> without(const Key& key) {
    std::vector<ListPage::Listed> left = items();
    EXPECT_EQ(std::erase_if(left, [&](const auto& listed) { return listed.key == key; }), 1U);
    return left;
  }

  static Key record_of(std::string_view stream, std::int64_t first) {
    return {logs::batch_partition(logs::stream("default", stream)), first};
  }
};

TEST_F(StoreCheckTest, WhatOnceWroteIsSound) {
  fill();
  EXPECT_EQ(post("/v1/logs/l/trim", R"({"before":4})").status, 200);
  post("/v1/tokens", "{}");
  const StoreCheck checked = check(items());
  EXPECT_EQ(checked.damaged(), 0U) << (checked.findings().empty() ? "" : checked.findings()[0]);
  EXPECT_GT(checked.items(), 15U);
}

TEST_F(StoreCheckTest, ARecordThatIsMissingFromALogIsAGap) {
  fill();
  EXPECT_EQ(check(without(record_of("l", 3))).damaged(), 1U);
  EXPECT_EQ(check(without(record_of("l", 1))).damaged(), 1U);
}

TEST_F(StoreCheckTest, ATrimMakesItsGapsHarmless) {
  fill();
  EXPECT_EQ(post("/v1/logs/l/trim", R"({"before":5})").status, 200);
  for (const std::int64_t first : {1, 7}) {  // The last is as if it had never been appended.
    const StoreCheck checked = check(without(record_of("l", first)));
    EXPECT_EQ(checked.damaged(), 0U) << (checked.findings().empty() ? "" : checked.findings()[0]);
  }
}

TEST_F(StoreCheckTest, TheEndOfAClosedLogIsMissed) {
  fill();
  EXPECT_EQ(check(without(record_of("closed", 2))).damaged(), 1U);
}

TEST_F(StoreCheckTest, EveryChangedRecordIsFound) {
  fill();
  const std::vector<ListPage::Listed> all = items();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<ListPage::Listed> changed = all;
    auto* const bytes = std::get_if<Bytes>(&changed[i].item.value);
    const bool is_compact_mark = bytes != nullptr && bytes->size() < 10;
    if (bytes == nullptr || is_compact_mark || keys::is_of_store(changed[i].key)) continue;
    (*bytes)[bytes->size() / 2] ^= 4;
    EXPECT_GE(check(changed).damaged(), 1U) << to_text(changed[i].key);
  }
}

TEST_F(StoreCheckTest, AClaimWithoutAFenceIsFound) {
  claims::ClaimRecord record{.state = claims::ClaimRecord::State::busy, .attempt = 1};
  const Item item{claims::encode(record), Version{7}};
  EXPECT_GE(check({{keys::claim("default", "c"), item}}).damaged(), 1U);
}

TEST_F(StoreCheckTest, WhatNobodyWroteThereIsFound) {
  EXPECT_EQ(check({{Key{{"what/is/this", ""}, 0}, Item{Bytes("x"), Version{7}}}}).damaged(), 1U);
}

}  // namespace
}  // namespace once::api

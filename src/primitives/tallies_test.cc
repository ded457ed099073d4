#include "once/tallies.h"

#include "primitives/keys.h"
#include "primitives/tallies_fixture.h"

namespace once {
namespace {

using namespace std::chrono_literals;
using enum TallyKind;
using TalliesTest = TalliesFixture;

TEST_P(TalliesTest, SumsAndCountsAddUp) {
  EXPECT_EQ(std::get<std::int64_t>(*merged("s", of(sum, std::int64_t{5})).value), 5);
  EXPECT_EQ(std::get<std::int64_t>(*merged("s", of(sum, std::int64_t{-7})).value), -2);
  EXPECT_EQ(value("s"), -2);
  merged("c", of(count, std::int64_t{1}));
  merged("c", of(count, std::int64_t{2}));
  EXPECT_EQ(value("c"), 3);
}

TEST_P(TalliesTest, MaxAndMinKeepTheExtremeInAnyOrder) {
  for (const std::int64_t number : {3, -9, 7, 0}) {
    merged("max", of(max, number));
    merged("min", of(min, number));
  }
  EXPECT_EQ(value("max"), 7);
  EXPECT_EQ(value("min"), -9);
}

TEST_P(TalliesTest, MinHoldsAtBothEndsOfInt64) {
  EXPECT_EQ(std::get<std::int64_t>(*merged("min", of(min, kMost)).value), kMost);
  EXPECT_EQ(value("min"), kMost);
  EXPECT_EQ(std::get<std::int64_t>(*merged("min", of(min, kLeast)).value), kLeast);
  merged("min", of(min, std::int64_t{0}));
  EXPECT_EQ(value("min"), kLeast);
  merged("max", of(max, kLeast));
  EXPECT_EQ(value("max"), kLeast);
}

TEST_P(TalliesTest, RealsAddUp) {
  merged("r", of(real, 0.5));
  merged("r", of(real, 0.25));
  EXPECT_EQ(value<double>("r"), 0.75);
}

TEST_P(TalliesTest, DistinctCountsDifferentItems) {
  merged("d", of(distinct, items({"a", "b", "a"})));
  EXPECT_EQ(std::get<std::int64_t>(*merged("d", of(distinct, items({"b", "c"}))).value), 3);
  EXPECT_EQ(value("d"), 3);
}

TEST_P(TalliesTest, TopReportsCountsWithTheirErrors) {
  merged("t", of(top, std::vector<CountedItem>{{"a", 1}, {"b", 3}}));
  merged("t", of(top, std::vector<CountedItem>{{"a", 9}}));
  const std::vector<HeavyItem> expected = {{"a", 10, 0}, {"b", 3, 0}};
  EXPECT_EQ(value<std::vector<HeavyItem>>("t"), expected);
}

TEST_P(TalliesTest, BloomKnowsWhatWasMerged) {
  merged("b", of(bloom, items({"a"})));
  merged("b", of(bloom, items({"b"})));
  const auto answer = value<BloomAnswer>("b");
  EXPECT_TRUE(answer.may_contain("a") && answer.may_contain("b"));
  EXPECT_FALSE(answer.may_contain("c"));
}

// A monoid of the program's own: the product of the inputs modulo a prime, as decimal text.
class Product final : public Monoid {
 public:
  std::string name() const override { return "product"; }
  Bytes identity() const override { return "1"; }
  Result<void> validate(std::string_view state) const override {
    const bool digits = state.find_first_not_of("0123456789") == std::string_view::npos;
    if (!state.empty() && state.size() < 8 && digits) return {};
    return failure(ErrorCode::corrupt, "not a product");
  }
  Result<Bytes> merge(std::string_view a, std::string_view b) const override {
    return std::to_string(std::stoll(Bytes(a)) * std::stoll(Bytes(b)) % 1'000'003);
  }
};

TEST_P(TalliesTest, AMonoidOfTheUsersOwnMergesAsTheBuiltInsDo) {
  const auto product = std::make_shared<Product>();
  TallyRequest request = of(own, Bytes("6"), "x");
  request.shape.own = product;
  merged("p", request);
  EXPECT_TRUE(merged("p", request).replayed);
  request.id = "y";
  request.input = Bytes("7");
  EXPECT_EQ(std::get<Bytes>(*merged("p", request).value), "42");
  EXPECT_EQ(std::get<Bytes>((*tallies_.read("p", {}, product))->value), "42");
  EXPECT_EQ(tallies_.read("p").error().code, ErrorCode::invalid);
  request.input = Bytes("six");
  EXPECT_EQ(refused("p", request), ErrorCode::invalid);
}

TEST_P(TalliesTest, OverflowIsRefusedAndChangesNothing) {
  for (const std::string id : {"", "id"}) {
    const std::string name = "sum" + id;
    merged(name, of(sum, kMost - 1, id));
    EXPECT_EQ(refused(name, of(sum, std::int64_t{2}, id.empty() ? "" : "other")),
              ErrorCode::invalid);
    EXPECT_EQ(value(name), kMost - 1);
    merged(name, of(sum, std::int64_t{1}, id.empty() ? "" : "other"));
    EXPECT_EQ(value(name), kMost);
  }
  const double huge = std::numeric_limits<double>::max();
  merged("real", of(real, huge));
  EXPECT_EQ(refused("real", of(real, huge)), ErrorCode::invalid);
  EXPECT_EQ(value<double>("real"), huge);
}

TEST_P(TalliesTest, BadInputIsInvalidAndMakesNoTally) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused("x", of(sum, 1.5)), ErrorCode::invalid);
  EXPECT_EQ(refused("x", of(real, nan)), ErrorCode::invalid);
  EXPECT_EQ(refused("x", of(count, std::int64_t{0})), ErrorCode::invalid);
  EXPECT_EQ(refused("x", of(distinct, std::int64_t{1})), ErrorCode::invalid);
  EXPECT_EQ(refused("x", of(top, std::vector<CountedItem>{{"a", 0}})), ErrorCode::invalid);
  EXPECT_EQ(refused("x", of(own, Bytes("1"))), ErrorCode::invalid);
  EXPECT_EQ(refused("x", of(sum, std::int64_t{1}, "bad\nid")), ErrorCode::invalid);
  TallyRequest request = of(bloom, items({"a"}));
  request.shape.rate = 0;
  EXPECT_EQ(refused("x", request), ErrorCode::invalid);
  request = of(sum, std::int64_t{1}, "id");
  request.id_ttl = Duration(1);
  EXPECT_EQ(refused("x", request), ErrorCode::invalid);
  EXPECT_EQ(refused("", of(sum, std::int64_t{1})), ErrorCode::invalid);
  EXPECT_FALSE(tallies_.read("x")->has_value());
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_P(TalliesTest, H21_AnotherKindShapeOrWindowIsItsOwnOutcomeAndChangesNothing) {
  merged("t", of(sum, std::int64_t{5}));
  EXPECT_EQ(as<OtherTally>(tallies_.merge("t", of(max, std::int64_t{9}))).kind, "sum");
  as<OtherTally>(tallies_.merge("t", of(count, std::int64_t{9}, "id")));
  TallyRequest windowed = of(sum, std::int64_t{9});
  windowed.shape.window = TallyWindow::hour;
  EXPECT_EQ(as<OtherTally>(tallies_.merge("t", windowed)).window, TallyWindow::none);
  EXPECT_EQ(value("t"), 5);
  merged("d", of(distinct, items({"a"})));
  TallyRequest other = of(distinct, items({"b"}));
  other.shape.precision = 12;
  EXPECT_EQ(as<OtherTally>(tallies_.merge("d", other)).kind, "distinct/14");
  EXPECT_EQ(value("d"), 1);
}

TEST_P(TalliesTest, ATallyThatHasExpiredLeavesNothingBehind) {
  TallyRequest request = of(sum, std::int64_t{5}, "id");
  request.ttl = std::chrono::minutes(1);
  request.id_ttl = std::chrono::minutes(2);
  merged("t", request);
  clock_.advance(std::chrono::minutes(1));
  EXPECT_FALSE(tallies_.read("t")->has_value());
  as<OtherTally>(tallies_.merge("t", of(max, std::int64_t{9})));  // Its id is known still.
  clock_.advance(std::chrono::hours(1));
  EXPECT_TRUE(tallies_.list()->tallies.empty());
  ASSERT_TRUE(memory_->sweep(1'000));
  EXPECT_EQ(testing::items_in(*memory_), 0U);
  merged("t", of(max, std::int64_t{9}));
  EXPECT_EQ(value("t"), 9);
}

TEST_P(TalliesTest, ATallyThatHasExpiredIsNotListedAndItsNameIsFree) {
  TallyRequest request = of(sum, std::int64_t{5});
  request.ttl = std::chrono::seconds(1);
  merged("t", request);
  request.shape.window = TallyWindow::minute;
  merged("windowed", request);
  EXPECT_EQ(tallies_.list()->tallies.size(), 2U);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(tallies_.list()->tallies.size(), 1U);  // The minute is not over.
  clock_.advance(std::chrono::minutes(1));
  EXPECT_TRUE(tallies_.list()->tallies.empty());
  if (single()) return;  // Where a commit is one write, a kind stands for minutes longer.
  merged("t", of(max, std::int64_t{9}));
  EXPECT_EQ(value("t"), 9);
}

TEST_P(TalliesTest, H21_KindAndWindowStandAsLongAsAnyBucket) {
  TallyRequest request = of(sum, std::int64_t{5});
  for (int i = 0; i < 20; ++i) {
    request.ttl = std::chrono::minutes(10);
    merged("t", request);
    clock_.advance(std::chrono::minutes(9));
    as<OtherTally>(tallies_.merge("t", of(max, std::int64_t{9})));
    EXPECT_EQ(value("t"), 5 * (i + 1));
  }
  request.ttl.reset();
  merged("t", request);
  clock_.advance(std::chrono::years(1));
  EXPECT_EQ(value("t"), 105);
  as<OtherTally>(tallies_.merge("t", of(max, std::int64_t{9})));
}

TEST_P(TalliesTest, ARemovedTallyLeavesNeitherBucketsNorIdsNorItsKind) {
  merged("t", of(sum, std::int64_t{5}, "id"));
  merged("tt", of(sum, std::int64_t{1}));
  if (single()) {
    EXPECT_EQ(tallies_.remove("t").error().code, ErrorCode::unsupported);
    EXPECT_EQ(value("t"), 5);
    return;
  }
  EXPECT_TRUE(tallies_.remove("t").value());
  EXPECT_FALSE(tallies_.remove("t").value());
  EXPECT_FALSE(tallies_.read("t")->has_value());
  EXPECT_EQ(value("tt"), 1);
  EXPECT_FALSE(merged("t", of(max, std::int64_t{9}, "id")).replayed);
  EXPECT_TRUE(merged("t", of(max, std::int64_t{9}, "id")).replayed);
  EXPECT_EQ(value("t"), 9);
  EXPECT_TRUE(tallies_.remove("t").value());
  EXPECT_FALSE(merged("t", of(sum, std::int64_t{5}, "id")).replayed);
  EXPECT_EQ(value("t"), 5);
  EXPECT_TRUE(tallies_.remove("t").value());
  EXPECT_TRUE(tallies_.remove("tt").value());
  clock_.advance(std::chrono::days(2));
  ASSERT_TRUE(memory_->sweep(1'000));
  EXPECT_EQ(testing::items_in(*memory_), 0U);
}

TEST_P(TalliesTest, OneThatAnotherProcessRemovedIsNotMergedInto) {
  if (single()) return;
  LocalTallies other(*store_, "test", clock_, entropy_);
  merged("t", of(sum, std::int64_t{5}));
  merged("d", of(distinct, items({"a"})));
  EXPECT_TRUE(other.remove("t").value());
  EXPECT_TRUE(other.remove("d").value());
  as<Tallied>(other.merge("t", of(max, std::int64_t{9})));
  as<OtherTally>(tallies_.merge("t", of(sum, std::int64_t{5})));
  EXPECT_EQ(value("t"), 9);
  merged("d", of(distinct, items({"b"})));
  EXPECT_EQ(value("d"), 1);
}

TEST_P(TalliesTest, AreListedByPrefixAndRemovedTogether) {
  merged("a/1", of(sum, std::int64_t{1}));
  TallyRequest week = of(distinct, items({"x"}), "id");
  week.shape.window = {std::chrono::days(7)};
  merged("a/2", week);
  merged("b", of(sum, std::int64_t{1}));
  const TallyPage page = tallies_.list({.prefix = "a/"}).value();
  ASSERT_EQ(page.tallies.size(), 2U);
  EXPECT_EQ(page.cursor, "");
  const std::size_t second = page.tallies[0].name == "a/2" ? 0 : 1;
  EXPECT_EQ(page.tallies[second], (ListedTally{"a/2", "distinct", {std::chrono::days(7)}}));
  EXPECT_EQ(page.tallies[1 - second], (ListedTally{"a/1", "sum", TallyWindow::none}));
  if (single()) return;
  EXPECT_EQ(tallies_.remove_all({.prefix = "a/"}, BulkRun::dry)->count, 2U);
  EXPECT_EQ(tallies_.list()->tallies.size(), 3U);
  EXPECT_EQ(tallies_.remove_all({.prefix = "a/"}, BulkRun::wet)->count, 2U);
  EXPECT_EQ(tallies_.list()->tallies.size(), 1U);
}

TEST_P(TalliesTest, BatchReadsAreInOrderWithNothingWhereThereIsNone) {
  merged("a", of(sum, std::int64_t{1}));
  merged("b", of(real, 2.0));
  const std::vector<std::string> names = {"b", "none", "a", "b"};
  const auto readings = *tallies_.read_all(names);
  ASSERT_EQ(readings.size(), 4U);
  EXPECT_EQ(std::get<double>(readings[0]->value), 2.0);
  EXPECT_FALSE(readings[1].has_value());
  EXPECT_EQ(std::get<std::int64_t>(readings[2]->value), 1);
  EXPECT_EQ(readings[3]->kind, real);
  EXPECT_TRUE(tallies_.read_all({})->empty());
}

TEST_P(TalliesTest, AStateThatDoesNotDecodeIsCorruptAndNeverDropped) {
  merged("d", of(distinct, items({"a"})));
  const Key key = keys::tally("test", "d");
  Item item = **memory_->get(key);
  Bytes bytes = std::get<Bytes>(item.value);
  bytes[bytes.size() / 2] ^= 1;
  Write damage = put(key, bytes, anything());
  damage.version = {99};
  ASSERT_TRUE(memory_->commit({&damage, 1}));
  EXPECT_EQ(refused("d", of(distinct, items({"b"}))), ErrorCode::corrupt);
  EXPECT_EQ(refused("d", of(distinct, items({"b"}), "id")), ErrorCode::corrupt);
  EXPECT_EQ(tallies_.read("d").error().code, ErrorCode::corrupt);
  EXPECT_EQ(std::get<Bytes>((*memory_->get(key))->value), bytes);
}

TEST_P(TalliesTest, WithoutAnIdAnUnknownOutcomeIsSaidAndNeverSentTwice) {
  for (const TallyKind kind : {sum, real}) {
    const std::string name = kind == sum ? "sum" : "real";
    const TallyInput one = kind == sum ? TallyInput(std::int64_t{1}) : TallyInput(1.0);
    merged(name, of(kind, one));
    std::vector<Fault> faults(reads_before_merge(kind), Fault::none);
    faults.push_back(Fault::fail_after);
    store_->script(faults);
    EXPECT_EQ(refused(name, of(kind, one)), ErrorCode::unknown);
    EXPECT_EQ(kind == sum ? static_cast<double>(value(name)) : value<double>(name), 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, TalliesTest, ::testing::Values(100, 1), name_of_limit);

// --- Windows. ---

class TallyWindowsTest : public TalliesFixture {
 protected:
  static TallyRequest windowed(TallyKind kind, std::int64_t number, std::optional<Time> at = {},
                               std::string id = "", TallyWindow window = TallyWindow::minute) {
    TallyRequest request = of(kind, number, std::move(id));
    request.shape.window = window;
    request.at = at;
    return request;
  }

  const Time start_ = clock_.now();  // Midnight.
};

TEST_P(TallyWindowsTest, BucketsAreAsLongAsTheWindowAndAlignedTo1970) {
  const auto week = std::chrono::weeks(1);
  merged("week", windowed(sum, 1, Time(week), "", {week}));
  merged("week", windowed(sum, 2, Time(2 * week - 1ms), "", {week}));
  merged("week", windowed(sum, 4, Time(2 * week), "", {week}));
  EXPECT_EQ(value("week", {Time(week), Time(2 * week)}), 3);
  for (const Duration bad : {Duration(999ms), Duration(7min), Duration(36h), Duration(-1min)}) {
    EXPECT_EQ(refused("bad", windowed(sum, 1, {}, "", {bad})), ErrorCode::invalid);
  }
  for (const TallyWindow window : {TallyWindow::minute, TallyWindow::hour, TallyWindow::day,
                                   TallyWindow{15min}, TallyWindow{1s}}) {
    const Duration width = window.length;
    const std::string name = std::to_string(width.count());
    merged(name, windowed(sum, 1, start_, "", window));
    merged(name, windowed(sum, 2, start_ + width - 1ms, "", window));
    const Tallied next = merged(name, windowed(sum, 4, start_ + width, "", window));
    EXPECT_EQ(std::get<std::int64_t>(*next.value), 4);
    EXPECT_EQ(value(name, {start_, start_ + width}), 3);
    EXPECT_EQ(value(name), 7);
  }
}

TEST_P(TallyWindowsTest, ARangeTakesTheBucketsThatStartInIt) {
  for (int i = 0; i < 5; ++i) merged("t", windowed(sum, 1 << i, start_ + i * 1min + 30s));
  EXPECT_EQ(value("t", {start_ + 1min, start_ + 3min}), 2 + 4);
  EXPECT_EQ(value("t", {start_ + 1min + 1ms, start_ + 3min + 1ms}), 4 + 8);
  EXPECT_EQ(value("t", {start_ + 3min, {}}), 8 + 16);
  EXPECT_EQ(value("t", {{}, start_ + 1min}), 1);
  EXPECT_EQ(value("t", {start_ + 3min, start_ + 1min}), 0);
  EXPECT_EQ(value("t", {start_ + 3min, start_ + 3min}), 0);
  EXPECT_EQ(value("t", {Time(-1h), Time{}}), 0);
}

TEST_P(TallyWindowsTest, AnAbsentBucketIsTheIdentityAndNotZero) {
  merged("max", windowed(max, -5, start_));
  merged("max", windowed(max, -3, start_ + 2min));
  merged("min", windowed(min, 5, start_ + 2min));
  EXPECT_EQ(value("max"), -3);
  EXPECT_EQ(value("min"), 5);
  EXPECT_EQ(value("max", {start_, start_ + 2min}), -5);
  value<std::monostate>("max", {start_ + 1min, start_ + 2min});
  value<std::monostate>("min", {start_, start_ + 2min});
}

TEST_P(TallyWindowsTest, WithoutAtTheBucketIsThatOfStoreTime) {
  merged("t", windowed(sum, 1));
  clock_.advance(1min);
  merged("t", windowed(sum, 2));
  EXPECT_EQ(value("t", {clock_.now(), {}}), 2);
}

TEST_P(TallyWindowsTest, BucketsAreRetainedFromTheEndOfTheirWindow) {
  TallyRequest request = windowed(sum, 1);
  request.ttl = 5min;
  merged("t", request);
  clock_.advance(6min - 1ms);
  EXPECT_EQ(value("t"), 1);
  clock_.advance(1ms);
  EXPECT_FALSE(tallies_.read("t")->has_value());
  EXPECT_FALSE(tallies_.read("t", {start_, {}})->has_value());
  EXPECT_FALSE(tallies_.series("t")->has_value());
  request.at = start_;
  EXPECT_EQ(refused("t", request), ErrorCode::invalid);
  EXPECT_FALSE(tallies_.read("t")->has_value());
}

TEST_P(TallyWindowsTest, TheLastTimeTakesTheBucketsThatOverlapIt) {
  for (int i = 0; i < 5; ++i) merged("t", windowed(sum, 1 << i, start_ + i * 1min));
  clock_.advance(3min + 30s);  // Within the fourth.
  const auto last = [&](Duration length) { return value("t", {.last = length}); };
  EXPECT_EQ(last(30s - 1ms), 8);
  EXPECT_EQ(last(30s), 8);
  EXPECT_EQ(last(30s + 1ms), 4 + 8);
  EXPECT_EQ(last(2min), 2 + 4 + 8);
  EXPECT_EQ(last(24h * 3650), 1 + 2 + 4 + 8);
}

TEST_P(TallyWindowsTest, ASeriesHasARowForEachBucketThatHoldsSomething) {
  for (const int i : {3, 0, 1}) merged("t", windowed(sum, 1 << i, start_ + i * 1min));
  const auto series = tallies_.series("t", {start_, start_ + 3min + 1ms}).value();
  ASSERT_TRUE(series && series->rows.size() == 3);
  EXPECT_EQ(series->window, TallyWindow::minute);
  EXPECT_EQ(series->rows[0].at, start_);
  EXPECT_EQ(series->rows[2].at, start_ + 3min);
  EXPECT_EQ(std::get<std::int64_t>(series->rows[2].value), 8);
  EXPECT_EQ(tallies_.series("t", {start_ + 1h, {}})->value().rows.size(), 0U);
  merged("one", of(sum, std::int64_t{7}));
  EXPECT_EQ(tallies_.series("one")->value().rows.size(), 1U);
  EXPECT_FALSE(tallies_.series("none")->has_value());
}

TEST_P(TallyWindowsTest, ReadsOfDifferentRangesAreOneCall) {
  for (int i = 0; i < 3; ++i) merged("t", windowed(sum, 1 << i, start_ + i * 1min));
  const std::vector<TallyRead> reads = {
      {"t", {start_ + 1min, {}}}, {"none", {}}, {"t", {}}, {"t", {start_ + 1min, {}}}};
  const auto readings = tallies_.read_each(reads).value();
  ASSERT_EQ(readings.size(), 4U);
  EXPECT_EQ(std::get<std::int64_t>(readings[0]->value), 6);
  EXPECT_FALSE(readings[1]);
  EXPECT_EQ(std::get<std::int64_t>(readings[2]->value), 7);
  EXPECT_EQ(std::get<std::int64_t>(readings[3]->value), 6);
}

TEST_P(TallyWindowsTest, H20_ARetryInTheNextWindowFindsItsIdInTheTally) {
  merged("t", windowed(sum, 1, {}, "x"));
  clock_.advance(1min);
  merged("t", windowed(sum, 10, {}, "y"));
  const Tallied again = merged("t", windowed(sum, 1, {}, "x"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(std::get<std::int64_t>(*again.value), 1);  // Of the bucket it went to.
  EXPECT_EQ(value("t"), 11);
  as<TallyMismatch>(tallies_.merge("t", windowed(sum, 2, {}, "x")));
}

TEST_P(TallyWindowsTest, SketchesMergeOverBuckets) {
  for (int i = 0; i < 10; ++i) {
    TallyRequest request = of(distinct, items({"common", std::to_string(i)}));
    request.shape.window = TallyWindow::hour;
    request.at = start_ + i * 1h;
    merged("d", request);
  }
  EXPECT_EQ(value("d"), 11);
  EXPECT_EQ(value("d", {start_, start_ + 3h}), 4);
}

TEST_P(TallyWindowsTest, MoreBucketsThanAPageHoldsAreAllRead) {
  const auto buckets = static_cast<std::int64_t>(testing::as_many_as(2'500, 1'100));
  ASSERT_GT(buckets, ScanRequest().limit);
  for (std::int64_t i = 0; i < buckets; ++i) merged("t", windowed(count, 1, start_ + i * 1min));
  EXPECT_EQ(value("t"), buckets);
}

TEST_P(TallyWindowsTest, ASumOfBucketsThatOverflowsIsRefusedNotWrapped) {
  merged("t", windowed(sum, kMost, start_));
  merged("t", windowed(sum, 1, start_ + 1min));
  EXPECT_EQ(tallies_.read("t").error().code, ErrorCode::invalid);
  EXPECT_EQ(value("t", {start_, start_ + 1min}), kMost);
}

TEST_P(TallyWindowsTest, TimesBefore1970AreInvalid) {
  EXPECT_EQ(refused("t", windowed(sum, 1, Time(-1ms))), ErrorCode::invalid);
}

INSTANTIATE_TEST_SUITE_P(Limits, TallyWindowsTest, ::testing::Values(100, 1), name_of_limit);

}  // namespace
}  // namespace once

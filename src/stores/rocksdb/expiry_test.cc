// Time as the embedded store knows it, and what happens to items when theirs has come.
#include <thread>
#include <tuple>

#include "kernel/format.h"
#include "once/local.h"
#include "stores/rocksdb/store_fixture.h"

namespace once {
namespace {

constexpr Duration kHour = std::chrono::hours(1);

class Expiry : public RocksDbTest {
 protected:
  Expiry() { options_.sweep_every = Duration::zero(); }

  void put_items(std::int64_t count, Duration life) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Time expiry = i % 2 == 0 ? clock_.now() + life : kNever;
      ASSERT_TRUE(commit(put(key_of("home", i), "value", absent(), expiry)));
    }
  }

  // The open store's database, as it is now.
  std::unique_ptr<rocksdb::DB> look_in() {
    const auto copy = dir_.path() / ("look-" + std::to_string(looks_++));
    EXPECT_TRUE(checkpoint_rocksdb(*store_, copy));
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::OpenForReadOnly({}, copy.string(), &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::unique_ptr<rocksdb::DB>(db);
  }

  // What the database itself holds, expired or not; the store's own records are not counted.
  std::size_t stored(rocksdb::DB& db) {
    std::size_t count = 0;
    const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator({}));
    for (at->Seek(std::string(1, format::kItemTag)); at->Valid(); at->Next()) ++count;
    return count;
  }

  int looks_ = 0;
};

TEST_F(Expiry, SweepRemovesExpiredItemsAndGoesOnWhereItEnded) {
  open();
  put_items(10, kHour);
  clock_.advance(kHour);
  const Swept first = store_->sweep(4).value();
  EXPECT_EQ(first.examined, 4U);
  EXPECT_EQ(first.removed, 2U);
  EXPECT_FALSE(first.finished);
  const Swept second = store_->sweep(100).value();
  EXPECT_EQ(second.examined, 6U);
  EXPECT_EQ(second.removed, 3U);
  EXPECT_TRUE(second.finished);
  EXPECT_EQ(store_->sweep(100).value().examined, 5U);
  close();
  EXPECT_EQ(stored(*open_bare()), 5U);
}

TEST_F(Expiry, TheBackgroundSweepRunsByTheClockUntilAllIsSwept) {
  options_.sweep_every = std::chrono::minutes(5);
  options_.durability = Durability::relaxed;
  open();
  put_items(3'000, std::chrono::minutes(1));
  clock_.advance(std::chrono::minutes(4));
  EXPECT_EQ(stored(*look_in()), 3'000U);
  clock_.advance(std::chrono::minutes(1));
  while (stored(*look_in()) != 1'500U) {
  }
}

TEST_F(Expiry, CompactionDropsExpiredItemsAndNothingElse) {
  open();
  put_items(10, kHour);
  close();
  clock_.advance(kHour);
  {
    const auto db = open_bare();
    std::string undecodable;
    format::encode_key(key_of("undecodable"), undecodable);
    ASSERT_TRUE(db->Put({}, undecodable, "rubbish").ok());
    ASSERT_EQ(stored(*db), 11U);
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(db->CompactRange(all, nullptr, nullptr).ok());
    EXPECT_EQ(stored(*db), 6U);
  }
  open();
  EXPECT_TRUE(has(key_of("home", 1)));
  EXPECT_FALSE(has(key_of("home", 0)));
  EXPECT_EQ(store_->get(key_of("undecodable")).error().code, ErrorCode::corrupt);
}

TEST_F(Expiry, ScansAndListsPassOverExpiredItemsAndSayIfThereIsMore) {
  open();
  put_items(10, kHour);
  clock_.advance(kHour);
  ScanRequest request{.partition = {"home", ""}, .limit = 5};
  EXPECT_EQ(store_->scan(request).value().entries.size(), 5U);
  EXPECT_FALSE(store_->scan(request).value().more);
  request.limit = 4;
  EXPECT_TRUE(store_->scan(request).value().more);
  request.direction = Direction::descending;
  EXPECT_EQ(store_->scan(request).value().entries.front().sort, 9);
  const ListPage page = store_->list({.home_prefix = "ho", .limit = 4}).value();
  EXPECT_EQ(page.items.size(), 2U);
  EXPECT_FALSE(page.cursor.empty());
}

TEST_F(Expiry, H15_TimeNeverStepsBackOverReopeningAndGoesOnTicking) {
  open();
  ASSERT_TRUE(commit(put(key_of("home"), "value", absent(), clock_.now() + kHour)));
  clock_.advance(2 * kHour);
  const Time told = store_->now();
  close();
  testing::ManualClock earlier(told - 10 * kHour);
  auto reopened = open_rocksdb(options_, earlier);
  ASSERT_TRUE(reopened);
  EXPECT_GE((*reopened)->now(), told);
  EXPECT_FALSE((*reopened)->get(key_of("home")).value());
  const Time before = (*reopened)->now();
  earlier.advance(kHour);
  EXPECT_EQ((*reopened)->now(), before + kHour);
}

// The wall clock is an hour ahead when the store is opened, and right again when it is opened next.
TEST_F(Expiry, H36_AnHourThatDidNotLastIsNotTheStoresForGood) {
  constexpr Duration kMinute = std::chrono::minutes(1);
  open();
  const Time right = store_->now();
  close();
  {
    testing::ManualClock wrong(right + kHour);
    const auto store = open_rocksdb(options_, wrong).value();
    EXPECT_EQ(store->now(), right + kHour);  // It may as well have been closed for an hour.
    wrong.advance(kMinute);
  }
  testing::ManualClock again(right + 2 * kMinute);
  {
    const auto store = open_rocksdb(options_, again).value();
    EXPECT_LE(store->now(), right + 12 * kMinute);
    EXPECT_NE(store->describe().find("ahead of this machine's clock"), std::string::npos);
  }
}

TEST_F(Expiry, H36_AStepThatLastedIsRecorded) {
  open();
  const Time before = store_->now();
  close();
  {
    testing::ManualClock later_on(before + 24 * kHour);
    const auto store = open_rocksdb(options_, later_on).value();
    later_on.advance(std::chrono::minutes(11));
  }
  testing::ManualClock set_back(before);
  const auto store = open_rocksdb(options_, set_back).value();
  EXPECT_GE(store->now(), before + 24 * kHour + std::chrono::minutes(11));
}

TEST(StoreTime, H36_IsNotRecordedWhileTheWallClockDisagrees) {
  testing::ManualClock clock;
  Duration lead = kHour;
  StoreTime time(clock, [&] { return lead; });
  const Time recorded = clock.now() - kHour;
  time.start_no_earlier_than(recorded);
  clock.advance(kHour / 2);
  EXPECT_EQ(time.to_record(), recorded + kHour / 2 + std::chrono::minutes(10));
  lead = Duration(0);
  EXPECT_EQ(time.to_record(), time.now());
}

TEST_F(Expiry, H15_TimeKeptByASweepSurvivesACrash) {
  open();
  clock_.advance(kHour);
  const Time told = store_->now();
  ASSERT_TRUE(store_->sweep(1));
  ASSERT_TRUE(commit(put(key_of("home"), "value", absent())));
  // A copy of the files is what a crash would leave.
  const auto copy = dir_.path() / "copy";
  std::filesystem::copy(options_.directory, copy);
  close();
  options_.directory = copy;
  testing::ManualClock earlier(told - 10 * kHour);
  auto reopened = open_rocksdb(options_, earlier);
  ASSERT_TRUE(reopened) << reopened.error().message;
  EXPECT_GE((*reopened)->now(), told);
}

constexpr int kNames = 20;

// One hour of everything that ends by itself.
void spend_hour(Store& store, Clock& clock, int hour) {
  LocalClaims claims(store, "default", clock);
  LocalLog log(store, "default", LogStrategy::conditional, clock);
  LocalDocuments documents(store, "default", clock);
  LocalTallies tallies(store, "default", clock);
  const Bytes large(2'000, 'x');
  for (int i = 0; i < kNames; ++i) {
    const std::string name = std::to_string(hour) + "/" + std::to_string(i);
    const auto taken = claims.take(name, {.lease = std::chrono::minutes(1), .ttl = kHour});
    const Ticket ticket = std::get<Claimed>(taken.value()).ticket;
    bool settled = true;
    if (i % 4 == 0) settled = claims.complete(name, ticket, large).has_value();
    if (i % 4 == 1) settled = claims.release(name, ticket, large, Release::final).has_value();
    if (i % 4 == 2) settled = claims.forget(name).has_value();
    ASSERT_TRUE(settled);
    const std::vector<std::string> ids = {name, name + "'"};
    ASSERT_TRUE(claims.seen(ids, kHour, "r"));
    documents::Content content{large, "text/plain"};
    content.ttl = kHour;
    ASSERT_TRUE(documents.put(name, content, documents::IfAbsent{}, {.id = name}));
    const TallyRequest one{.input = 1, .id = name, .id_ttl = kHour, .ttl = kHour};
    ASSERT_TRUE(tallies.merge(name, one));
    // A log of the same name as an hour ago, which is over by now.
    const std::string stream = std::to_string(i);
    ASSERT_TRUE(log.append(stream, {{large}}, {.batch = name}));
    ASSERT_TRUE(log.append_events(stream, {{large}}, {.ids = {"e"}}));
    ASSERT_TRUE(log.close(stream, kHour));
  }
}

TEST_F(Expiry, ADayOfTrafficThatHasEndedLeavesAStoreAsSmallAsANewOne) {
  options_.durability = Durability::relaxed;
  // All but the log of commits, which is written again from its start.
  const auto bytes = [this] {
    std::uintmax_t total = 0;
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory)) {
      std::error_code gone;
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".sst")) continue;
      const std::uintmax_t size = std::filesystem::file_size(entry.path(), gone);
      if (!gone) total += size;
    }
    return total;
  };
  open();
  std::ignore = LocalClaims(*store_, "default", clock_).take("first", {.ttl = kHour});
  clock_.advance(std::chrono::days(9));
  while (!store_->sweep(1'000).value().finished) {
  }
  const std::size_t items_of_new = stored(*look_in());
  const std::uintmax_t bytes_of_new = bytes();
  for (int hour = 0; hour < 24; ++hour) {
    ASSERT_NO_FATAL_FAILURE(spend_hour(*store_, clock_, hour));
    clock_.advance(kHour);
  }
  EXPECT_GT(stored(*look_in()), 2'000U);
  EXPECT_GT(bytes(), bytes_of_new + 65'536);
  clock_.advance(std::chrono::days(40));
  // A log whose time is over goes when a listing meets it, and its records a while later.
  LocalLog log(*store_, "default", LogStrategy::conditional, clock_);
  EXPECT_TRUE(log.list().value().logs.empty());
  clock_.advance(std::chrono::days(2));
  for (int walks = 0; walks < 2; ++walks) {
    while (!store_->sweep(1'000).value().finished) {
    }
  }
  // Of each name of a log the number of its lives is left, so that no late append meets another
  // one.
  EXPECT_EQ(stored(*look_in()), items_of_new + kNames);
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (bytes() > bytes_of_new + 16'384 && std::chrono::steady_clock::now() < patience) {
    std::this_thread::yield();
  }
  EXPECT_LE(bytes(), bytes_of_new + 16'384);
}

}  // namespace
}  // namespace once

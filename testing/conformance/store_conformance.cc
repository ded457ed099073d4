#include "testing/conformance/store_conformance.h"

#include <latch>
#include <thread>

namespace once {

void PrintTo(const Item& item, std::ostream* out) {
  if (const auto* number = std::get_if<std::int64_t>(&item.value)) {
    *out << *number;
  } else {
    const Bytes& bytes = std::get<Bytes>(item.value);
    *out << bytes.size() << " bytes \"" << bytes.substr(0, 20) << '"';
  }
  *out << " version " << item.version.number << " expiry "
       << item.expiry.time_since_epoch().count();
}

}  // namespace once

namespace once::testing {
namespace {

constexpr std::uint64_t kSeed = 20'240'229;

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DurableStoreConformance);

StoreConformance::StoreConformance() : subject_(GetParam().open()), entropy_(kSeed) {}

Write StoreConformance::fresh(Write write) {
  write.version = fresh_version();
  return write;
}

std::optional<Item> StoreConformance::read(const Key& key) {
  const Result<std::optional<Item>> item = store().get(key);
  if (item) return *item;
  ADD_FAILURE() << "get " << to_text(key) << ": " << item.error().message;
  return std::nullopt;
}

Item StoreConformance::seed(const Key& key, Value value, Time expiry) {
  const Write write = fresh(put(key, std::move(value), anything(), expiry));
  EXPECT_TRUE(is_committed(commit({write})));
  return item_of(write);
}

Item StoreConformance::seed_expired(const Key& key, Value value) {
  const Item item = seed(key, std::move(value), soon());
  subject_->wait_until(item.expiry);
  return item;
}

void StoreConformance::remove(const Key& key) {
  EXPECT_TRUE(is_committed(commit({erase(key, anything())})));
}

std::vector<Direction> directions(const Limits& limits) {
  std::vector<Direction> able;
  if (limits.scans_ascending) able.push_back(Direction::ascending);
  if (limits.scans_descending) able.push_back(Direction::descending);
  return able;
}

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::latch start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
}

Item item_of(const Write& write) { return {write.value, write.version, write.expiry}; }

::testing::AssertionResult is_committed(const Result<CommitOutcome>& answer) {
  if (!answer) {
    return ::testing::AssertionFailure()
           << name_of(answer.error().code) << ": " << answer.error().message;
  }
  if (committed(*answer)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "lost by write " << std::get<Lost>(*answer).write;
}

::testing::AssertionResult is_lost(const Result<CommitOutcome>& answer, std::size_t write,
                                   const std::optional<Item>& current) {
  if (!answer) {
    return ::testing::AssertionFailure()
           << name_of(answer.error().code) << ": " << answer.error().message;
  }
  const Lost* lost = std::get_if<Lost>(&*answer);
  if (lost == nullptr) return ::testing::AssertionFailure() << "was committed";
  if (lost->write != write) return ::testing::AssertionFailure() << "names write " << lost->write;
  if (lost->current == current) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "current: " << ::testing::PrintToString(lost->current)
                                       << ", not " << ::testing::PrintToString(current);
}

}  // namespace once::testing

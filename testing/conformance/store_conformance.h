// The promises of once/store.h, as tests that every store passes. The cases are in the other files
// of this directory, by theme; what differs between stores they take from limits() and the
// variant of testing/stores/stores.h.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "once/entropy.h"
#include "testing/stores/stores.h"

namespace once::testing {

inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

class StoreConformance : public ::testing::TestWithParam<StoreVariant> {
 public:
  StoreConformance();

  Store& store() { return subject_->store(); }
  const Limits& limits() { return store().limits(); }
  bool takes(std::size_t writes) { return limits().writes_per_commit >= writes; }

  // Keys of one home may always be in one commit, as far as the number of writes allows.
  static Key key(std::string part, std::int64_t sort = 0) { return {{"home", part}, sort}; }

  // Expired after wait_out(). Nothing that expires so soon may be expected to be there.
  Time soon() { return store().now() + GetParam().short_life; }
  Time far_off() { return store().now() + std::chrono::hours(1); }
  void wait_out() { subject_->wait_until(soon()); }

  Version fresh_version() { return entropy_.version(); }
  Write fresh(Write write);  // The write, with a version.

  Result<CommitOutcome> commit(std::vector<Write> writes) { return store().commit(writes); }
  std::optional<Item> read(const Key& key);

  // Committed on any current item; answers the item afterwards.
  Item seed(const Key& key, Value value, Time expiry = kNever);
  Item seed_expired(const Key& key, Value value);
  void remove(const Key& key);

  Subject& subject() { return *subject_; }

 private:
  std::unique_ptr<Subject> subject_;
  Entropy entropy_;
};

// The cases of stores whose data outlives them.
class DurableStoreConformance : public StoreConformance {};

std::vector<Direction> directions(const Limits& limits);

// Runs `work(i)` for each i below `count` on a thread of its own, all starting together.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

Item item_of(const Write& write);  // What a put leaves.

::testing::AssertionResult is_committed(const Result<CommitOutcome>& answer);
::testing::AssertionResult is_lost(const Result<CommitOutcome>& answer, std::size_t write,
                                   const std::optional<Item>& current);

// Works on every kind of Result.
template <class T>
::testing::AssertionResult failed_as(ErrorCode code, const Result<T>& answer) {
  if (answer) return ::testing::AssertionFailure() << "was not refused";
  if (answer.error().code == code) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "refused as " << name_of(answer.error().code) << ": " << answer.error().message;
}

}  // namespace once::testing

namespace once {

void PrintTo(const Item& item, std::ostream* out);

}  // namespace once

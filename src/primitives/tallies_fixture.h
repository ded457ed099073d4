// Tallies on a store that takes many writes per commit, and on one that takes a single write.
#pragma once

#include <gtest/gtest.h>

#include <limits>

#include "once/faulty_store.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "once/tallies.h"
#include "testing/limited_store.h"
#include "testing/manual_clock.h"
#include "testing/store_under_test.h"

namespace once {

inline constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

class TalliesFixture : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { ONCE_NEEDS_WRITES(*memory_, GetParam()); }

  bool single() const { return GetParam() == 1; }

  static TallyRequest of(TallyKind kind, TallyInput input, std::string id = "") {
    return {.shape = {.kind = kind}, .input = std::move(input), .id = std::move(id)};
  }
  static TallyInput items(std::vector<std::string> names) {
    std::vector<CountedItem> counted;
    for (std::string& name : names) counted.push_back({std::move(name)});
    return counted;
  }

  template <class T>
  static T as(Result<TallyOutcome> outcome) {
    if (!outcome) ADD_FAILURE() << outcome.error().message;
    if (!outcome) return {};
    EXPECT_TRUE(std::holds_alternative<T>(*outcome)) << outcome->index();
    return std::holds_alternative<T>(*outcome) ? std::get<T>(*outcome) : T{};
  }

  Tallied merged(std::string_view name, const TallyRequest& request) {
    return as<Tallied>(tallies_.merge(name, request));
  }
  ErrorCode refused(std::string_view name, const TallyRequest& request) {
    const Result<TallyOutcome> outcome = tallies_.merge(name, request);
    EXPECT_FALSE(outcome.has_value());
    return outcome ? ErrorCode::denied : outcome.error().code;
  }

  // Store calls before the first write of a merge without an id into a known tally: of the meta
  // item if the store may forget it, and of the bucket if the store cannot merge by itself.
  std::size_t reads_before_merge(TallyKind kind) const {
    const bool native = kind == TallyKind::sum || kind == TallyKind::count ||
                        kind == TallyKind::max || kind == TallyKind::min;
    return (native ? 0 : 1) + (memory_->limits().may_forget ? 1 : 0);
  }

  template <class T = std::int64_t>
  T value(std::string_view name, const TallyRange& range = {}) {
    const auto reading = tallies_.read(name, range);
    if (!reading || !*reading) ADD_FAILURE() << "no tally " << name;
    if (!reading || !*reading) return {};
    EXPECT_TRUE(std::holds_alternative<T>((*reading)->value)) << (*reading)->value.index();
    const T* found = std::get_if<T>(&(*reading)->value);
    return found != nullptr ? *found : T{};
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<Store> memory_ = testing::store_under_test(clock_);
  testing::LimitedStore limited_{*memory_, GetParam()};
  std::unique_ptr<FaultyStore> store_ = inject_faults(limited_, {}, clock_);
  LocalTallies tallies_{*store_, "test", clock_, entropy_};
};

inline std::string name_of_limit(const ::testing::TestParamInfo<std::size_t>& limit) {
  return limit.param == 1 ? "SingleWrite" : "MultiWrite";
}

}  // namespace once

// The store behind a relay that does to its requests what a test says.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/code_of.h"
#include "testing/relay/dynamodb_faults.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"

namespace once::testing {

class DynamoDbFaults : public ::testing::Test {
 protected:
  // Short, because some tests wait for its end; long enough for a busy machine.
  static constexpr Duration kTimeout = std::chrono::seconds(5);

  void SetUp() override {
    ONCE_NEEDS_SERVER(DynamoDbLocal);
    const DynamoDbTable table;
    options_ = table.options();
    reopen(kTimeout);
  }

  void reopen(Duration timeout) {
    DynamoDbOptions relayed = options_;
    relayed.timeout = timeout;
    relayed.endpoint = relay_.url();
    store_ = open_dynamodb(relayed, system_clock(), entropy_).value();
  }

  static Key key(std::string home, std::int64_t sort = 0) { return {{std::move(home), ""}, sort}; }
  Write fresh(Write write) {
    write.version = entropy_.version();
    return write;
  }
  Result<CommitOutcome> commit(const std::vector<Write>& writes) { return store_->commit(writes); }
  static bool is_committed(const Result<CommitOutcome>& answer) {
    return answer && committed(*answer);
  }
  std::int64_t number_at(const Key& key) {
    const auto item = store_->get(key);
    EXPECT_TRUE(item.has_value()) << item.error().message;
    return item && *item ? std::get<std::int64_t>((*item)->value) : 0;
  }

  // The next requests meet these; those after them pass.
  void script(std::vector<Fault> faults) {
    relay_.decide([faults = std::move(faults), at = std::size_t{0}](const RelayedRequest&) mutable {
      return at < faults.size() ? faults[at++] : Fault(Pass{});
    });
  }

  // Of each test another: the tests share a server, which knows the tokens of all.
  Entropy entropy_{
      std::hash<std::string>{}(::testing::UnitTest::GetInstance()->current_test_info()->name())};
  DynamoDbOptions options_;
  Relay relay_{DynamoDbLocal::missing() ? std::uint16_t{0} : shared_dynamodb().port()};
  std::unique_ptr<DynamoDbStore> store_;
};

}  // namespace once::testing

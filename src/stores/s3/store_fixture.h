// The store on Ceph, behind a relay that does to its requests what a test says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "testing/code_of.h"
#include "testing/relay/s3_faults.h"
#include "testing/servers/needs.h"
#include "testing/servers/s3_buckets.h"

namespace once::testing {

class S3Fixture : public ::testing::Test {
 protected:
  // Short, because some tests wait for its end; long enough for a busy machine.
  static constexpr Duration kTimeout = std::chrono::seconds(5);

  void SetUp() override {
    ONCE_NEEDS_SERVER(CephS3);
    place_.emplace();
    relay_ = std::make_unique<Relay>(shared_s3().port());
    store_ = open(kTimeout);
    spent();
  }

  // Another process on the same data, as it were.
  std::unique_ptr<S3Store> open(Duration timeout) {
    S3Options options = place_->options();
    options.timeout = timeout;
    options.endpoint = relay_->url();
    return open_s3(options, system_clock(), entropy_).value();
  }

  static Key key(std::string home, std::int64_t sort = 0) { return {{std::move(home), ""}, sort}; }
  Write fresh(Write write) {
    write.version = entropy_.version();
    return write;
  }
  Result<CommitOutcome> commit(const Write& write) { return store_->commit({&write, 1}); }
  static bool is_committed(const Result<CommitOutcome>& answer) {
    return answer && committed(*answer);
  }
  static bool is_lost(const Result<CommitOutcome>& answer) { return answer && !committed(*answer); }
  std::optional<Item> read(const Key& key) {
    const auto item = store_->get(key);
    EXPECT_TRUE(item.has_value()) << item.error().message;
    return item ? *item : std::nullopt;
  }
  std::int64_t number_at(const Key& key) {
    const std::optional<Item> item = read(key);
    return item ? std::get<std::int64_t>(item->value) : 0;
  }

  // Requests since the last time.
  S3Counts spent() {
    const S3Counts now = store_->counts();
    const S3Counts since{.gets = now.gets - counted_.gets,
                         .puts = now.puts - counted_.puts,
                         .lists = now.lists - counted_.lists,
                         .deletes = now.deletes - counted_.deletes};
    counted_ = now;
    return since;
  }

  // The next requests of these methods meet these; all others pass.
  void script(const std::string& method, std::vector<Fault> faults) {
    relay_->decide([method, faults = std::move(faults),
                    at = std::size_t{0}](const RelayedRequest& request) mutable {
      const bool meant = request.method == method && at < faults.size();
      return meant ? faults[at++] : Fault(Pass{});
    });
  }

  Entropy entropy_{5};
  std::optional<S3Place> place_;
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<S3Store> store_;
  S3Counts counted_;
};

}  // namespace once::testing

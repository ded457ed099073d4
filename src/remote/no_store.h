// What stands where a server has no store to show: everything is `unsupported`.
#pragma once

#include "once/store.h"

namespace once::remote {

class NoStore final : public Store {
 public:
  explicit NoStore(Clock& clock) : clock_(clock) {}

  const Limits& limits() const override { return limits_; }
  std::string describe() const override { return "none: a server"; }
  Time now() override { return clock_.now(); }
  Result<Swept> sweep(std::size_t) override { return refusal(); }

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key>) override {
    return refusal();
  }
  Result<ScanPage> do_scan(const ScanRequest&) override { return refusal(); }
  Result<ListPage> do_list(const ListRequest&) override { return refusal(); }
  Result<CommitOutcome> do_commit(Transaction) override { return refusal(); }

 private:
  static std::unexpected<Error> refusal() {
    return failure(ErrorCode::unsupported, "a server is no store: its primitives are all there is");
  }

  Clock& clock_;
  // Wide enough for every request to get as far as its refusal.
  const Limits limits_{.writes_per_commit = 1'000,
                       .value_bytes = std::size_t{1} << 30,
                       .partition_bytes = std::size_t{1} << 20};
};

}  // namespace once::remote

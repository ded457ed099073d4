// A store whose commits can be prepared, as those of a store on PostgreSQL: a token stands for
// writes that are kept here, and applying it is a commit of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "stores/decorators/decorator.h"

namespace once::testing {

class SealingStore final : public Decorator<Store>, private Sealer {
 public:
  struct Kept {
    std::vector<Write> writes;
    std::vector<std::string> parts;
    Time until;
  };

  explicit SealingStore(Store& inner) : Decorator(inner), limits_(inner.limits()) {
    limits_.sealer = this;
  }

  const Limits& limits() const override { return limits_; }

  Kept kept(const std::string& token) const {
    const Lock lock(mutex_);
    return kept_.at(token);
  }
  Result<CommitOutcome> apply(const std::string& token) { return commit(kept(token).writes); }

 private:
  std::string seal(Transaction writes, std::span<const std::string> parts,
                   Time until) const override {
    const Lock lock(mutex_);
    std::string token = "token-" + std::to_string(kept_.size());
    kept_[token] = {{writes.begin(), writes.end()}, {parts.begin(), parts.end()}, until};
    return token;
  }

  Limits limits_;
  mutable Mutex mutex_;
  mutable std::map<std::string, Kept> kept_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::testing

// The promises of a store in the plainest form: a map and a time. Shares no code with the stores.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "once/store.h"

namespace once::testing {

// The possible answers to a commit. If both a guard fails and an integer overflows, either answer
// is right; nothing is written.
struct Verdict {
  bool may_be_invalid = false;
  std::optional<Lost> lost;
  Committed committed;  // When neither.
};

class Model {
 public:
  explicit Model(Time now) : now_(now) {}

  void pass(Duration length) { now_ += length; }
  Time now() const { return now_; }

  std::optional<Item> get(const Key& key) const;
  std::vector<Entry> scan(const Partition& partition, std::int64_t first, std::int64_t last,
                          Direction direction) const;
  std::map<Key, Item> list(const std::string& home_prefix) const;

  Verdict commit(const std::vector<Write>& writes);

 private:
  bool guard_holds(const Write& write) const;
  bool arithmetic_fails(const Write& write) const;
  std::optional<std::int64_t> perform(const Write& write);

  Time now_;
  std::map<Key, Item> items_;
};

}  // namespace once::testing

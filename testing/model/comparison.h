// Runs commands on a store and on the model, and compares their answers.
#pragma once

#include <vector>

#include "testing/manual_clock.h"
#include "testing/model/commands.h"
#include "testing/model/model.h"

namespace once::testing {

// A difference fails the running RapidCheck property. `clock` is the store's.
class Comparison {
 public:
  Comparison(Store& store, ManualClock& clock)
      : store_(store), clock_(clock), model_(clock.now()) {}

  void run(const Command& command);

 private:
  std::vector<Write> writes_of(const TransactionChoice& choice);
  Guard guard_of(const WriteChoice& choice, const Key& key) const;
  Time expiry_of(ExpiryChoice choice) const;

  void commit(const Command& command);
  void commit_each(const Command& command);
  void scan(const Command& command);
  void list(const Command& command);
  void compare(const std::vector<Write>& writes, const Result<CommitOutcome>& answer);
  void compare_all_keys();

  Store& store_;
  ManualClock& clock_;
  Model model_;
  std::vector<Version> seen_ = {Version{1}};
};

}  // namespace once::testing

// One attempt under way: its work, its lease, and what it comes to.
#pragma once

#include "drivers/periodic.h"
#include "once/once.h"

namespace once {

class Running {
 public:
  Running(BlockingDriver& driver, Store& store, Clock& clock, std::string name_space,
          Attempt& attempt, Claimed claimed, const RunOptions& options);

  RunResult run(const Once::Work& work);

 private:
  // What recording came to: an outcome, or an error that trying again will not mend.
  using Recorded = Result<effects::Outcome>;

  Result<Effects> perform(const Once::Work& work);
  void renew();
  RunResult end(const Error& error);
  RunResult record(const Effects& effects);
  Recorded record_once(const Effects& effects);
  RunResult end_recorded(const effects::Outcome& outcome, const Effects& effects);
  void release(const std::string& failure, Release how);

  BlockingDriver& driver_;
  Store& store_;  // For its time, by which the lease ends.
  Clock& clock_;
  const std::string name_space_;
  Attempt& attempt_;
  const Claimed claimed_;
  const RunOptions& options_;
  const Key key_;
  std::atomic<Time> lease_until_;
};

}  // namespace once

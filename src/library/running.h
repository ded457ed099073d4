// One attempt under way: its work, its lease, and what it comes to.
#pragma once

#include "drivers/periodic.h"
#include "library/backend.h"
#include "once/once.h"

namespace once {

class Running {
 public:
  // The claim was asked for at `asked`, by the backend's time.
  Running(Backend& backend, Attempt& attempt, Claimed claimed, Time asked,
          const RunOptions& options);

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

  Backend& backend_;
  Attempt& attempt_;
  const Claimed claimed_;
  const RunOptions& options_;
  std::atomic<Time> lease_until_;
};

}  // namespace once

// One attempt at a piece of work that was claimed: the work, its lease, and the recording of what
// it came to.
#pragma once

#include <optional>

#include "library/lease_keeper.h"
#include "once/backend.h"
#include "once/once.h"

namespace once {

class Run {
 public:
  // `lease` counts by the backend's clock. What is given by reference must outlive it.
  Run(Backend& backend, Attempt& attempt, Ticket ticket, LeaseCountdown lease,
      const RunOptions& options);

  RunResult run(const Once::Work& work);

 private:
  std::optional<NotRun> freshen_lease();
  Result<Effects> perform(const Once::Work& work);
  RunResult record(Effects effects);
  Result<effects::PrepareOutcome> prepare(const Effects& effects);
  RunResult record_applied();
  Result<effects::Outcome> record_once(const Effects& effects);
  RunResult end_recorded(const effects::Outcome& outcome, const Effects& effects);
  RunResult end_failed(const Error& error);
  Result<void> release(std::string failure, Release how);

  Backend& backend_;
  Attempt& attempt_;
  const Ticket ticket_;
  const RunOptions& options_;
  LeaseCountdown lease_;  // Until its keeper has it.
};

}  // namespace once

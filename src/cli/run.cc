#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "base/mutex.h"
#include "cli/answer.h"
#include "cli/outcome.h"
#include "cli/period.h"
#include "cli/target.h"
#include "once/once.h"
#include "process/process.h"
#include "wire/claims.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::cli::run_command {
namespace {

// Bytes of each output that are kept. An outcome always fits, for what is not recorded is done
// again: with less of its output, and in the end with none.
constexpr std::array<std::size_t, 4> kOutputs = {process::Keep::kUsual, 8U << 10, 512, 0};

// Of a failure. The library cuts a longer one anywhere, and no claim keeps it: the key is free.
constexpr std::size_t kFailureOutput = 1U << 10;

constexpr Duration kPeriodMargin = std::chrono::hours(1);

// One call of `once run`, as its options say.
struct Job {
  std::string key;
  std::vector<std::string> command;
  Duration lease = std::chrono::seconds(30);
  Duration ttl = std::chrono::hours(24);
  Duration wait{0};
  bool keep_failed = false;
};

Result<void> take_duration(const Invocation& invocation, std::string_view name, Duration& into) {
  const auto text = invocation.option(name);
  if (!text) return {};
  const auto value = api::parse_duration_or_seconds(*text);
  if (!value) {
    return failure(ErrorCode::invalid,
                   "--" + std::string(name) + " is a duration such as 250ms, 30s, 5m, 24h or 7d");
  }
  into = *value;
  return {};
}

// Adds the period to the key. The outcome is kept to the end of the period and a margin for clocks
// that differ: with less, the job would run again in the same period.
Result<void> take_period(const Invocation& invocation, Time now, Job& job) {
  const auto per = invocation.option("per");
  if (!per) return {};
  const auto period = period_of(*per, now);
  if (!period) return failure(ErrorCode::invalid, "--per is hour, day, week or month");
  const Duration left = period->end - now;
  if (!invocation.option("ttl")) {
    job.ttl = std::max(job.ttl, left + kPeriodMargin);
  } else if (job.ttl < left) {
    return failure(
        ErrorCode::invalid,
        "--ttl ends before the " + *per + " does: the command would run again in it; leave it out");
  }
  job.key += "@" + period->name;
  return {};
}

Result<Job> job_of(const Invocation& invocation) {
  if (invocation.own_words != 1 || invocation.words.size() < 2) {
    return failure(ErrorCode::invalid, "it is called as once run KEY [OPTIONS] -- COMMAND ...");
  }
  Job job{.key = invocation.words[0],
          .command = {invocation.words.begin() + 1, invocation.words.end()},
          .keep_failed = invocation.flag("keep-failed")};
  Result<void> ok = take_duration(invocation, "lease", job.lease);
  if (ok) ok = take_duration(invocation, "ttl", job.ttl);
  if (ok) ok = take_duration(invocation, "wait", job.wait);
  if (ok) ok = take_period(invocation, system_clock().now(), job);
  if (!ok) return std::unexpected(std::move(ok.error()));
  return job;
}

std::string owner_of(const Invocation& invocation) {
  if (const auto owner = invocation.option("owner")) return *owner;
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + ":" + std::to_string(::getpid());
}

// `Once::run` with a process as its work (docs/decisions/0017-once-run-is-the-library.md).
class Runner {
 public:
  Runner(const Invocation& invocation, Job job, const process::Guardian& guardian)
      : invocation_(invocation), job_(std::move(job)), guardian_(guardian) {}

  int run() {
    Result<Once> once = open_library(invocation_);
    if (!once) return not_claimed(once.error());
    const RunResult ran =
        once->run(job_.key, options(), [this](Attempt& attempt) { return perform(attempt); });
    if (interrupted_by_) return 128 + *interrupted_by_;
    if (!ran) return not_run(*once, ran.error());
    return ran->replayed ? replay(*once) : finished_->exit_code();
  }

 private:
  RunOptions options() {
    return {.lease = job_.lease,
            .ttl = job_.ttl,
            .wait = job_.wait,
            .owner = owner_of(invocation_),
            .pause =
                [this](Duration length) {
                  interrupted_by_ = process::sleep_unless_signalled(length);
                  return !interrupted_by_;
                },
            .on_renewal = [this](const Attempt& attempt) { heed(attempt); },
            .smaller = [this]() -> std::optional<Effects> {
              if (++output_ == kOutputs.size()) return std::nullopt;
              return outcome();
            }};
  }

  // The command ends with the lease, even if this process is stopped or waits for its server.
  process::Lifetime lifetime_of(const Attempt& attempt) const {
    return process::Lifetime::of_lease(attempt.lease_until(), job_.lease);
  }

  Result<std::unique_ptr<process::Process>> start(process::Environment environment,
                                                  const process::Lifetime& lifetime) const {
    return process::Process::start(
        {.words = job_.command,
         .environment = std::move(environment),
         .outputs = {{.descriptor = STDOUT_FILENO, .pass_to = STDOUT_FILENO},
                     {.descriptor = STDERR_FILENO, .pass_to = STDERR_FILENO}},
         .job = process::Job::foreground,
         .lifetime = lifetime},
        guardian_);
  }

  // A command that was stopped because its lease was lost has come to nothing, even if failures are
  // kept. One that succeeded in spite of that has an outcome, unless another took over.
  Result<Effects> perform(Attempt& attempt) {
    auto process = start({{"ONCE_KEY", job_.key},
                          {"ONCE_FENCE", std::to_string(attempt.fence())},
                          {"ONCE_ATTEMPT", std::to_string(attempt.number())}},
                         lifetime_of(attempt));
    if (!process) {
      was_stopped_ = lifetime_of(attempt).is_over();
      return attempt.retry_later(process.error());
    }
    process::Process& running = **process;
    {
      const Lock lock(mutex_);
      process_ = std::move(*process);
    }
    heed(attempt);
    finished_ = running.wait();
    was_stopped_ = finished_->stopped || finished_->warned;
    const bool succeeded = finished_->exit_code() == 0;
    has_outcome_ = succeeded || (job_.keep_failed && !was_stopped_);
    if (has_outcome_) return outcome();
    return attempt.retry_later(outcome_json(*finished_, kFailureOutput));
  }

  Effects outcome() const { return Effects().result(outcome_json(*finished_, kOutputs[output_])); }

  // Called by the keeper of the lease, on its thread, and once the command has started.
  void heed(const Attempt& attempt) {
    const Lock lock(mutex_);
    if (process_ == nullptr) return;
    if (attempt.lost()) return process_->stop();
    process_->extend(lifetime_of(attempt));
  }

  int not_run(Once& once, const NotRun& why) {
    switch (why.why) {
      case NotRun::Why::busy:
        return print_error(invocation_, wire::encode(ClaimOutcome(Busy{why.owner, why.until, {}}),
                                                     once.now(), wire::DataForm::json));
      case NotRun::Why::retry: return failed(why);
      case NotRun::Why::fenced: return lost();
      case NotRun::Why::failed: return finished_ ? not_recorded(why.error) : replay(once);
      case NotRun::Why::store_error:
        return finished_ ? not_recorded(why.error) : not_claimed(why.error);
      case NotRun::Why::mismatch:
      case NotRun::Why::refused: break;  // It has neither a payload nor conditions.
    }
    return print_problem(why.error);
  }

  int print_problem(const Error& error) { return print_error(invocation_, wire::problem(error)); }

  int not_claimed(const Error& error) {
    if (is_transient(error) && invocation_.option("if-store-down") == "proceed") {
      return run_unguarded();
    }
    // The claim may be held for the length of its lease, but nothing ran.
    return print_problem(
        {is_transient(error) ? ErrorCode::unavailable : error.code, error.message});
  }

  // The store is down, and acting twice is better than not at all.
  int run_unguarded() {
    std::cerr << "once run: the store cannot be reached; running '" << job_.key
              << "' unguarded, as --if-store-down proceed says\n";
    const auto process = start({{"ONCE_KEY", job_.key}}, {});
    if (!process) return print_error(invocation_, process.error());
    return (*process)->wait().exit_code();
  }

  // The outcome that is there already.
  int replay(Once& once) {
    const Result<std::optional<ClaimState>> record = once.claims().show(job_.key);
    if (!record) return print_problem(record.error());
    using Kind = ClaimState::Kind;
    const bool known =
        *record && ((*record)->kind == Kind::done || (*record)->kind == Kind::failed);
    if (!known) return print_error(invocation_, wire::no_claim());
    return print_outcome(job_.key, wire::encode(job_.key, **record, wire::DataForm::json));
  }

  int failed(const NotRun& why) {
    if (has_outcome_) return not_recorded(why.error);
    if (was_stopped_) return lost();
    if (!finished_) {
      std::cerr << "once run: " << why.error.message << '\n';
      return kCannotStart;
    }
    return why.unrecorded ? not_recorded(*why.unrecorded) : finished_->exit_code();
  }

  int lost() const {
    std::cerr << "once run: the lease of '" << job_.key << "' was lost "
              << (finished_ ? "and its command stopped" : "before its command could start")
              << "; it may run elsewhere\n";
    return kRefused;
  }

  int not_recorded(const Error& error) {
    std::cerr << "once run: '" << job_.key << "' ran, but its outcome was not recorded\n";
    return print_problem(error);
  }

  // Constant after construction.
  const Invocation& invocation_;
  const Job job_;
  const process::Guardian& guardian_;

  // Of the thread that runs it.
  std::optional<int> interrupted_by_;  // A signal, while another's attempt was waited for.
  std::optional<process::Finished> finished_;
  bool was_stopped_ = false;
  bool has_outcome_ = false;  // Which is to be recorded.
  std::size_t output_ = 0;    // Of kOutputs.

  Mutex mutex_;
  std::unique_ptr<process::Process> process_ ONCE_GUARDED_BY(mutex_);
};

int run(const Invocation& invocation) {
  Result<Job> job = job_of(invocation);
  if (!job) return refuse_usage("run", job.error().message);
  process::hold_signals();
  const Result<process::Guardian> guardian = process::Guardian::start();
  if (!guardian) return print_error(invocation, guardian.error());
  return Runner(invocation, std::move(*job), *guardian).run();
}

constexpr std::array kOptions = {Option{"per"},   Option{"lease"},
                                 Option{"ttl"},   Option{"wait"},
                                 Option{"owner"}, Option{"keep-failed", Option::Kind::flag}};
constexpr std::array kVerbs = {Verb{.least = 2,
                                    .most = kAnyNumber,
                                    .words = "KEY -- COMMAND ...",
                                    .options = kOptions,
                                    .run = run}};

}  // namespace

const Command kCommand = {
    .name = "run",
    .summary = "Runs a command once for a key, whoever else tries",
    .help = R"(Usage: once run KEY [--per hour|day|week|month] [--lease 30s] [--ttl 24h] [--wait 0s]
                [--keep-failed] [--owner NAME] -- COMMAND [ARGUMENT]...

Runs COMMAND unless it has run for KEY already, or is running now. Its output and its exit code are
passed through. If it succeeds, both are kept for --ttl: a repeat within that time prints the stored
output, says on stderr when it ran, and exits with the stored code, without running anything.

  --per PERIOD    adds the hour, day, week or month (UTC) to the key: once a period; the outcome is
                  kept to its end at least
  --lease TIME    how long another waits before it takes over, when this one dies; renewed meanwhile
  --ttl TIME      how long the outcome is kept; 0s keeps nothing: a lock across machines
  --wait TIME     how long to wait for another that is running it
  --keep-failed   keeps a failure, too; otherwise a failing command may be run again at once
  --owner NAME    who this is, for 'once claim show'; HOST:PID otherwise

COMMAND finds ONCE_KEY, ONCE_FENCE (a number that only rises for a key) and ONCE_ATTEMPT in its
environment. Signals are passed on to it. It is stopped when the lease is lost: TERM comes shortly
before the lease's end and KILL at the end, even if 'once run' itself is stopped. It does not outlive
'once run': what it leaves running in its process group ends with it. Of each of its outputs, 64 KiB
are kept, or as much of them as the store takes.

Exits with the code of COMMAND; 75 if another is running it; 69 if the store cannot be reached (or it
is run unguarded, with --if-store-down proceed); 70 if it ran, but it is unknown whether its outcome
was recorded; 1 if the lease was lost; 64 for wrong usage.

Example:
  once run backup --per day -- echo "backed up"
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::run_command

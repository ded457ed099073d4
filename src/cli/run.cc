#include <unistd.h>

#include <array>
#include <iostream>

#include "base/backoff.h"
#include "cli/answer.h"
#include "cli/claiming.h"
#include "cli/outcome.h"
#include "cli/period.h"
#include "cli/request.h"
#include "library/lease_keeper.h"
#include "once/entropy.h"
#include "process/process.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::cli::run_command {
namespace {

constexpr Duration kRecordPatience = kAttemptLife;
constexpr PauseBounds kRecordPauses{
    .shortest = Duration(100), .first = Duration(500), .longest = Duration(2'000)};
constexpr std::array<std::size_t, 4> kOutputs = {process::Keep::kUsual, 8U << 10, 512, 0};

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
  const auto value = api::parse_duration(*text);
  if (!value) {
    return failure(ErrorCode::invalid,
                   "--" + std::string(name) + " is a duration such as 250ms, 30s, 5m, 24h or 7d");
  }
  into = *value;
  return {};
}

Result<Job> job_of(const Invocation& invocation) {
  if (invocation.own_words != 1 || invocation.words.size() < 2) {
    return failure(ErrorCode::invalid, "it is called as once run KEY [OPTIONS] -- COMMAND ...");
  }
  Job job{.key = invocation.words[0],
          .command = {invocation.words.begin() + 1, invocation.words.end()},
          .keep_failed = invocation.flag("keep-failed")};
  if (const auto per = invocation.option("per")) {
    const auto period = period_of(*per, system_clock().now());
    if (!period) return failure(ErrorCode::invalid, "--per is hour, day or week");
    job.key += "@" + *period;
  }
  Result<void> ok = take_duration(invocation, "lease", job.lease);
  if (ok) ok = take_duration(invocation, "ttl", job.ttl);
  if (ok) ok = take_duration(invocation, "wait", job.wait);
  if (!ok) return std::unexpected(std::move(ok.error()));
  return job;
}

std::string text_of(Duration length) { return std::to_string(length.count()) + "ms"; }

std::string owner_of(const Invocation& invocation) {
  if (const auto owner = invocation.option("owner")) return *owner;
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + ":" + std::to_string(::getpid());
}

api::Request taking(const Invocation& invocation, const Job& job) {
  api::JsonObject body;
  body.text("owner", owner_of(invocation));
  // A lost answer finds its own claim, not a busy one.
  body.text("request", std::to_string(system_entropy().random()));
  body.text("lease", text_of(job.lease)).text("ttl", text_of(job.ttl));
  return request_for(invocation, "POST", path_to("claims", job.key), body.finish());
}

class Runner {
 public:
  Runner(const Invocation& invocation, Job job, const process::Guardian& guardian)
      : invocation_(invocation),
        job_(std::move(job)),
        guardian_(guardian),
        target_(open_target(invocation)) {}

  int run() {
    std::optional<int> ended_by;
    const auto pause = [&](Duration length) {
      return !(ended_by = process::sleep_unless_signalled(length));
    };
    const auto [taken, asked] = take_within(*target_, taking(invocation_, job_), job_.wait, pause);
    if (ended_by) return 128 + *ended_by;
    if (proceeds(invocation_, taken)) return run_unguarded();
    if (!taken) return print_error(invocation_, taken.error());
    if (taken->status == 200) return replay();
    if (taken->status != 201) return print_error(invocation_, *taken);
    ticket_ = field_of(*taken, "ticket");
    return run_claimed({asked, job_.lease}, field_of(*taken, "fence"), field_of(*taken, "attempt"));
  }

 private:
  api::Request by_ticket(std::string_view action, api::JsonObject body) const {
    body.text("ticket", ticket_);
    return request_for(invocation_, "POST", path_to("claims", job_.key, action), body.finish());
  }

  Result<std::unique_ptr<process::Process>> start(process::Environment environment) const {
    return process::Process::start(
        {.words = job_.command,
         .environment = std::move(environment),
         .outputs = {{.descriptor = STDOUT_FILENO, .pass_to = STDOUT_FILENO},
                     {.descriptor = STDERR_FILENO, .pass_to = STDERR_FILENO}},
         .job = process::Job::foreground},
        guardian_);
  }

  // The outcome that is there already.
  int replay() {
    const Result<api::Response> record =
        target_->call(request_for(invocation_, "GET", path_to("claims", job_.key)));
    if (!record) return print_error(invocation_, record.error());
    if (record->status != 200) return print_error(invocation_, *record);
    return print_outcome(job_.key, *record);
  }

  // The store is down, and acting twice is better than not at all.
  int run_unguarded() {
    std::cerr << "once run: the store cannot be reached; running '" << job_.key
              << "' unguarded, as --if-store-down proceed says\n";
    const auto process = start({{"ONCE_KEY", job_.key}});
    if (!process) return print_error(invocation_, process.error());
    return (*process)->wait().exit_code();
  }

  // A claim whose answer took long may be near its end: it is renewed before the command starts.
  int run_claimed(LeaseCountdown lease, const std::string& fence, const std::string& attempt) {
    target_->release_store();
    Clock& clock = system_clock();
    if (const Time now = clock.now(); now >= lease.due()) {
      const auto renewed = renew(kAttemptLife);
      if (renewed && std::holds_alternative<Renewed>(*renewed)) lease.renewed(now);
      const bool is_fenced = renewed && std::holds_alternative<Fenced>(*renewed);
      if (is_fenced || lease.is_over(clock.now())) return lost();
    }
    const auto process =
        start({{"ONCE_KEY", job_.key}, {"ONCE_FENCE", fence}, {"ONCE_ATTEMPT", attempt}});
    if (!process) {
      (void)send(by_ticket("release", {}));
      std::cerr << "once run: " << process.error().message << '\n';
      return kCannotStart;
    }
    LeaseKeeper keeper(clock, lease, [this](Duration within) { return renew(within); },
                       {.lost = [&] { (*process)->stop(); }});
    const process::Finished finished = (*process)->wait();
    keeper.stop();
    return keeper.is_lost() ? lost() : record(finished);
  }

  int lost() const {
    std::cerr << "once run: the lease of '" << job_.key
              << "' was lost and its command stopped; it may run elsewhere\n";
    return kRefused;
  }

  // While the command runs, the target is the keeper's thread's.
  Result<RenewOutcome> renew(Duration within) {
    api::JsonObject body;
    body.text("lease", text_of(job_.lease));
    const api::Request request = by_ticket("renew", std::move(body));
    const Result<api::Response> answer = target_->call(request, within);
    target_->release_store();
    if (!answer) return std::unexpected(answer.error());
    if (std::optional<Error> error = wire::error_of(request, *answer)) {
      return std::unexpected(std::move(*error));
    }
    if (answer->status == 200) return Renewed{};
    return Fenced{};
  }

  // An outcome always fits, for what is not recorded is done again: with less of its output, and in
  // the end with none.
  Result<api::Response> send_outcome(const process::Finished& finished) {
    const bool keeps = finished.exit_code() == 0 || job_.keep_failed;
    Result<api::Response> recorded;
    for (const std::size_t most : kOutputs) {
      api::JsonObject body;
      body.raw(keeps ? "result" : "failure", outcome_json(finished, most));
      recorded = send(by_ticket(keeps ? "complete" : "release", std::move(body)));
      const bool too_large =
          recorded ? recorded->status == 413 : recorded.error().code == ErrorCode::too_large;
      if (!too_large) break;
    }
    return recorded;
  }

  int record(const process::Finished& finished) {
    const Result<api::Response> recorded = send_outcome(finished);
    if (recorded && recorded->status == 200) return finished.exit_code();
    std::cerr << "once run: '" << job_.key << "' ran, but its outcome was not recorded\n";
    return recorded ? print_error(invocation_, *recorded)
                    : print_error(invocation_, recorded.error());
  }

  // The command has run: a store that is down for a while is waited for. The ticket keeps what is
  // sent twice from counting twice.
  Result<api::Response> send(const api::Request& request) {
    Clock& clock = system_clock();
    Backoff backoff(kRecordPauses, clock, system_entropy(), later(clock.now(), kRecordPatience));
    for (;;) {
      Result<api::Response> answer = target_->call(request);
      target_->release_store();
      const std::optional<Error> error =
          answer ? wire::error_of(request, *answer) : std::optional(answer.error());
      if (!error || !is_transient(*error) || !backoff.pause()) return answer;
    }
  }

  const Invocation& invocation_;
  const Job job_;
  const process::Guardian& guardian_;
  std::unique_ptr<Target> target_;
  std::string ticket_;
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
    .help = R"(Usage: once run KEY [--per hour|day|week] [--lease 30s] [--ttl 24h] [--wait 0s]
                [--keep-failed] [--owner NAME] -- COMMAND [ARGUMENT]...

Runs COMMAND unless it has run for KEY already, or is running now. Its output and its exit code are
passed through. If it succeeds, both are kept for --ttl: a repeat within that time prints the stored
output, says on stderr when it ran, and exits with the stored code, without running anything.

  --per PERIOD    adds the hour, day or week (UTC) to the key: once a period
  --lease TIME    how long another waits before it takes over, when this one dies; renewed meanwhile
  --ttl TIME      how long the outcome is kept; 0s keeps nothing: a lock across machines
  --wait TIME     how long to wait for another that is running it
  --keep-failed   keeps a failure, too; otherwise a failing command may be run again at once
  --owner NAME    who this is, for 'once claim show'; HOST:PID otherwise

COMMAND finds ONCE_KEY, ONCE_FENCE (a number that only rises for a key) and ONCE_ATTEMPT in its
environment. Signals are passed on to it. It is stopped when the lease is lost, and does not outlive
'once run': what it leaves running in its process group ends with it. Of each of its outputs, 64 KiB
are kept, or as much of them as the store takes.

Exits with the code of COMMAND; 75 if another is running it; 69 if the store cannot be reached (or it
is run unguarded, with --if-store-down proceed); 1 if the lease was lost; 64 for wrong usage.

Example:
  once run backup --per day -- echo "backed up"
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::run_command

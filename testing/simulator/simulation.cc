#include "testing/simulator/simulation.h"

#include <algorithm>
#include <optional>

#include "drivers/perform.h"
#include "testing/simulator/describe.h"

namespace once::testing {

// One client: a script, the plan it is performing, and a clock that is wrong.
class Simulation::Client {
 public:
  Client(std::string name, Script script, Duration skew)
      : name_(std::move(name)), script_(std::move(script)), skew_(skew) {}

  void start(Simulation& simulation) {
    run_.emplace(simulation, skew_);
    plan_.emplace(script_());
    detail::start(*run_, *plan_);
  }

  // Abandons the plan; the client starts again at `restart`.
  void crash(Time restart) {
    plan_.reset();
    run_.reset();
    ready_at = restart;
  }

  void end() {
    ending = detail::take_result(*plan_);
    crash(kNever);
  }

  bool started() const { return run_.has_value(); }
  detail::PlanState& run() { return *run_; }
  const std::string& name() const { return name_; }

  Time ready_at{};                               // Not scheduled before that.
  std::optional<Result<std::monostate>> ending;  // Once the script has ended.

 private:
  class Run final : public detail::PlanState {
   public:
    Run(Simulation& simulation, Duration skew)
        : PlanState(simulation.limits_, simulation.client_entropy_, known_secret_),
          clock_(simulation.clock_),
          skew_(skew) {}
    Time now() override { return clock_.now() + skew_; }

   private:
    Clock& clock_;
    const Duration skew_;
    detail::SecretCell known_secret_;  // A process that starts again knows nothing.
  };

  const std::string name_;
  const Script script_;
  const Duration skew_;
  std::optional<Run> run_;
  std::optional<Plan<std::monostate>> plan_;
};

// A commit that was answered as unknown and is not performed yet.
struct Simulation::Late {
  std::string sender;
  std::vector<Write> writes;
  Time due;
};

Simulation::Simulation(SimulationOptions options)
    : options_(options),
      entropy_(options.seed),
      client_entropy_(~options.seed),
      store_(open_memory({}, clock_)),
      limits_(store_->limits()) {
  if (options_.admit_skew) limits_.clock_error = 2 * options_.max_skew;
  if (options_.writes_per_commit > 0) limits_.writes_per_commit = options_.writes_per_commit;
  if (options_.writes_per_commit == 1) limits_.scans_ascending = false;
}

Simulation::~Simulation() = default;

void Simulation::add_client(std::string name, Script script) {
  const auto width = static_cast<std::uint64_t>(options_.max_skew.count());
  const Duration skew =
      Duration(static_cast<std::int64_t>(below(2 * width + 1))) - options_.max_skew;
  clients_.push_back(std::make_unique<Client>(std::move(name), std::move(script), skew));
}

bool Simulation::run() {
  while (step()) {
    if (++steps_ >= options_.max_steps) {
      note("too many steps");
      return false;
    }
  }
  return true;
}

void Simulation::note(const std::string& line) {
  trace_ += std::to_string(steps_) + ' ' + std::to_string(clock_.now().time_since_epoch().count()) +
            ' ' + line + '\n';
}

// False if no client has anything left to do.
bool Simulation::step() {
  clock_.advance(Duration(
      static_cast<std::int64_t>(below(static_cast<std::uint64_t>(options_.max_step.count()) + 1))));
  if (!late_.empty() && chance(100)) {
    perform_late(below(late_.size()));
    return true;
  }
  const auto overdue = std::ranges::min_element(late_, {}, &Late::due);
  if (overdue != late_.end() && overdue->due <= next_action()) {
    perform_late(static_cast<std::size_t>(overdue - late_.begin()));
    return true;
  }
  if (Client* client = pick()) {
    act(*client);
    return true;
  }
  if (late_.empty()) return false;
  perform_late(below(late_.size()));
  return true;
}

// When the first client can continue.
Time Simulation::next_action() {
  Time first = kNever;
  for (const auto& client : clients_) {
    if (!client->ending) first = std::min(first, client->ready_at);
  }
  return first == kNever ? clock_.now() : std::max(first, clock_.now());
}

// One of the clients that can continue. If all wait, time moves on until the first can.
Simulation::Client* Simulation::pick() {
  std::vector<Client*> waiting;
  for (const auto& client : clients_) {
    if (!client->ending) waiting.push_back(client.get());
  }
  if (waiting.empty()) return nullptr;
  const auto ready_at = [](const Client* client) { return client->ready_at; };
  const Time first = ready_at(*std::ranges::min_element(waiting, {}, ready_at));
  if (first > clock_.now()) clock_.advance(first - clock_.now());
  std::erase_if(waiting, [&](const Client* client) { return client->ready_at > clock_.now(); });
  return waiting[below(waiting.size())];
}

void Simulation::act(Client& client) {
  if (!client.started()) {
    client.start(*this);
    record(client, "starts");
    settle(client);
    return;
  }
  if (chance(options_.fates.crashes_before)) return crash(client);
  perform(client);
  record(client, describe(client.run().step) + " -> " + describe_answer(client.run().step));
  if (chance(options_.fates.crashes_after)) return crash(client);
  settle(client);
}

void Simulation::perform(Client& client) {
  const detail::Step& step = client.run().step;
  if (detail::length_of(step)) return;
  if (chance(options_.fates.fails_before)) {
    detail::fail_step(step, {ErrorCode::unavailable, "simulated: nothing happened"});
  } else if (auto* const* one = std::get_if<detail::CommitStep*>(&step)) {
    (*one)->answer = commit(client, (*one)->writes);
  } else if (auto* const* each = std::get_if<detail::CommitEachStep*>(&step)) {
    std::vector<Result<CommitOutcome>> answers;
    for (const std::span<Write>& writes : (*each)->transactions) {
      answers.push_back(commit(client, writes));
    }
    (*each)->answer = std::move(answers);
  } else if (auto* const* scan = std::get_if<detail::ScanStep*>(&step);
             scan != nullptr && !limits_.scans_ascending &&
             (*scan)->request->direction == Direction::ascending) {
    detail::fail_step(step, {ErrorCode::unsupported, "simulated: no scan in that direction"});
  } else {
    detail::perform(step, *store_, client_entropy_);
  }
}

Result<CommitOutcome> Simulation::commit(Client& client, std::span<Write> writes) {
  detail::stamp(writes, client_entropy_);
  if (writes.size() > limits_.writes_per_commit) {
    return failure(ErrorCode::unsupported, "simulated: too many writes in a commit");
  }
  const auto unknown = failure(ErrorCode::unknown, "simulated: the reply was lost");
  if (chance(options_.fates.lands_late)) {
    late_.push_back({client.name(),
                     {writes.begin(), writes.end()},
                     later(clock_.now(), options_.latest_landing)});
    return unknown;
  }
  Result<CommitOutcome> outcome = store_->commit(writes);
  if (!chance(options_.fates.fails_after)) return outcome;
  const bool happened = outcome && committed(*outcome);
  record(client, happened ? "loses the reply: committed" : "loses the reply: nothing happened");
  return unknown;
}

void Simulation::crash(Client& client) {
  const auto bound = static_cast<std::uint64_t>(options_.restart_after.count());
  client.crash(clock_.now() + Duration(static_cast<std::int64_t>(below(bound + 1))));
  record(client, "crashes");
}

// Continues the plan to its next step or its end.
void Simulation::settle(Client& client) {
  detail::go_on(client.run());
  if (client.run().leaf == nullptr) {
    client.end();
    record(client, client.ending->has_value()
                       ? "ends"
                       : "ends: " + std::string(name_of(client.ending->error().code)));
  } else if (const std::optional<Duration> length = detail::length_of(client.run().step)) {
    client.ready_at = later(clock_.now(), *length);
  }
}

void Simulation::perform_late(std::size_t which) {
  const Late late = std::move(late_[which]);
  late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  const Result<CommitOutcome> outcome = store_->commit(late.writes);
  std::string text = late.sender + " landed late:";
  for (const Write& write : late.writes) text += " [" + describe(write) + "]";
  note(text + (outcome && committed(*outcome) ? " -> committed" : " -> nothing"));
}

bool Simulation::chance(unsigned of_a_thousand) { return below(1000) < of_a_thousand; }

std::uint64_t Simulation::below(std::uint64_t bound) { return entropy_.random() % bound; }

void Simulation::record(const Client& client, const std::string& what) {
  note(client.name() + ' ' + what);
}

}  // namespace once::testing

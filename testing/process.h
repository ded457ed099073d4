// A program with a batching driver of its own, one round at a time and in time that tests move: a
// test decides what programs that share a store do at the same moment. Destroying one in the middle
// is a crash.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "drivers/rounds.h"
#include "testing/manual_clock.h"

namespace once::testing {

class Process {
 public:
  // All three must outlive the process.
  Process(Store& store, ManualClock& clock, Entropy& entropy)
      : store_(store), clock_(clock), entropy_(entropy), rounds_(store, clock, entropy, 1'024) {}

  template <class T>
  void start(Plan<T> plan, std::type_identity_t<std::function<void(Result<T>)>> done) {
    auto task = std::make_unique<detail::PlanTask<T>>(store_, entropy_, std::move(plan), done);
    task->deadline = later(clock_.now(), kAttemptLife);
    detail::Rounds::begin(*task);
    rounds_.admit(std::move(task));
  }

  bool busy() const { return rounds_.under_way() > 0; }

  // Nothing, while all that is under way pauses.
  void round() {
    if (rounds_.next_due() <= clock_.now()) rounds_.run_round();
  }

  // Rounds until every plan has ended, a millisecond apart.
  void finish() {
    while (busy()) {
      round();
      clock_.advance(Duration(1));
    }
  }

 private:
  Store& store_;
  ManualClock& clock_;
  Entropy& entropy_;
  detail::Rounds rounds_;
};

// Runs each plan in a process of its own, a round of each in turn: everybody has read before the
// first one writes.
template <class T>
std::vector<Result<T>> run_in_step(Store& store, ManualClock& clock, Entropy& entropy,
                                   std::vector<Plan<T>> plans) {
  std::vector<std::optional<Result<T>>> answers(plans.size());
  std::vector<std::unique_ptr<Process>> processes;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    processes.push_back(std::make_unique<Process>(store, clock, entropy));
    processes[i]->start(std::move(plans[i]),
                        [&answer = answers[i]](Result<T> given) { answer = std::move(given); });
  }
  while (std::ranges::any_of(processes, &Process::busy, [](auto& p) -> Process& { return *p; })) {
    for (const auto& process : processes) process->round();
    clock.advance(Duration(1));
  }
  std::vector<Result<T>> given;
  for (auto& answer : answers) given.push_back(std::move(*answer));
  return given;
}

}  // namespace once::testing

// Clients that use claims, documents, sums and logs at once, and the record of what they were
// answered.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "once/once.h"
#include "testing/linearizability/models.h"

namespace once::testing {

struct Workload {
  std::size_t clients = 16;
  std::size_t rounds = 20;  // Of each client: one operation on each primitive, or a few.
  std::size_t keys = 3;     // Of each primitive; with fewer there are more conflicts.
  std::uint64_t seed = 1;
  bool answers_get_lost = false;               // See ClaimModel.
  Duration within = std::chrono::seconds(20);  // For one operation, its repeats included.
};

// Whether more is wanted than `./test` has time for: $ONCE_LONG.
bool is_long_run();

struct Histories {
  std::map<std::string, LinearizabilityChecker<ClaimModel>::History> claims;
  std::map<std::string, LinearizabilityChecker<DocumentModel>::History> documents;
  std::map<std::string, LinearizabilityChecker<SumModel>::History> sums;
  std::map<std::string, std::vector<Event<Append>>> logs;
  std::vector<std::string> errors;  // Answers that no client should get.
};

// Runs the clients, each with an Once of its own, on threads of their own. `progressed` is called
// after each round of a client, by its thread.
Histories run_workload(
    const Workload& workload, const std::function<Once()>& open,
    const std::function<void()>& progressed = [] {});

// Lines for people about everything in the histories that no order explains; empty if nothing is.
// Reads the logs to their ends through `once`.
std::vector<std::string> faults_of(const Workload& workload, const Histories& histories,
                                   Once& once);

std::string lines_of(const std::vector<std::string>& faults);

}  // namespace once::testing

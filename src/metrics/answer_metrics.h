// Counts the answers of the API. docs/operations.md explains each number.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "metrics/latencies.h"
#include "metrics/registry.h"
#include "wire/message.h"

namespace once::metrics {

using wire::Outcome;
using wire::Response;
using wire::Telemetry;

enum class Primitive : std::uint8_t {
  claims,
  seen,
  log,
  documents,
  tallies,
  effects,
  events,
  proxy,
  other
};
inline constexpr std::size_t kPrimitives = static_cast<std::size_t>(Primitive::other) + 1;

std::string_view name_of(Primitive primitive);

// What a request is counted as.
struct Subject {
  Primitive primitive = Primitive::other;
  bool reads = false;  // Changes nothing.
};

// Which kind of server counts. Decides which series exist from the start, so that an alert sees
// their first event as a rise.
enum class Door : std::uint8_t { api, proxy };

Outcome outcome_of(const Subject& subject, const Response& response);
Outcome outcome_of_part(const Telemetry& telemetry);  // Of one event of a batch.

// Safe to share between threads. Counting takes no lock, except by the type of an event.
class AnswerMetrics {
 public:
  explicit AnswerMetrics(Door door = Door::api);

  // Returns the outcome that was counted.
  Outcome answered(const Subject& subject, const Response& response,
                   std::chrono::nanoseconds duration);
  void refused(int status) { count_status(status); }  // It was no valid request.

  // A proxy looked up the claim of a request's key.
  void checked(std::chrono::nanoseconds duration) { check_seconds_.observe(duration); }

  // The store's last sweep kept and removed this many items.
  void swept(std::size_t left, std::size_t removed);

  // How many answers had this outcome so far.
  std::uint64_t count_of(Primitive primitive, Outcome outcome) const {
    return outcomes_[static_cast<std::size_t>(primitive)][static_cast<std::size_t>(outcome)]
        .value();
  }

  // Of requests for primitives, without those that may wait for another holder.
  const Latencies& latencies() const { return latencies_; }

  Registry& registry() { return registry_; }

 private:
  Outcome count(const Subject& subject, const Telemetry& telemetry, Outcome outcome,
                std::chrono::nanoseconds duration);
  void count_status(int status);
  void count_claims(const Telemetry& telemetry, std::string_view event_type);
  void count_document(const Telemetry& telemetry, Outcome outcome,
                      std::chrono::nanoseconds duration);
  void write_outcomes(Exposition& out) const;
  void write_statuses(Exposition& out) const;

  const Door door_;
  Registry registry_;
  Family<Counter>& skipped_;
  Family<Counter>& invalid_;
  Family<Counter>& errors_;
  Family<Counter>& operations_;
  Family<Gauge>& sizes_;
  Histogram& check_seconds_;
  Histogram& update_seconds_;
  Counter& conflicts_;
  Counter& retry_success_;
  Counter& retry_failed_;
  Counter& checks_;
  Counter& marks_;
  Counter& removals_;
  Counter& cleanups_;

  // Counted for every request, so found by index instead of by name.
  std::array<std::array<Counter, wire::kOutcomes>, kPrimitives> outcomes_;
  std::array<Counter, 600> statuses_;
  Latencies latencies_;

  const Registry::Collecting collecting_;  // Last: it uses all of the above.
};

}  // namespace once::metrics

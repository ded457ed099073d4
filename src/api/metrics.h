// What the API counts of its answers. docs/operations.md says what each number means.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "api/message.h"
#include "metrics/registry.h"

namespace once::api {

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

// What a request is about, as far as it is counted. Known before anything else of it is.
struct Subject {
  Primitive primitive = Primitive::other;
  bool reads = false;  // And changes nothing.
};
Subject subject_of(std::string_view method, std::string_view target);

// Which series are there from the start, so that an alert sees the first of them as a rise.
enum class Door : std::uint8_t { api, proxy };

Outcome outcome_of(const Subject& subject, const Response& response);
Outcome outcome_of_part(const Notes& notes);  // Of one event of a batch.

// Safe to share between threads. Counting takes no lock but for the types of events.
class Metrics {
 public:
  explicit Metrics(Door door = Door::api);

  // What it was counted as.
  Outcome answered(const Subject& subject, const Response& response,
                   std::chrono::nanoseconds length);
  void refused(int status) { count_status(status); }  // What was no request.

  // Of a proxy: from a request with a key to knowing what stands there.
  void checked(std::chrono::nanoseconds length) { check_seconds_.observe(length); }

  // Of the store: what its last walk found and removed.
  void swept(std::size_t left, std::size_t removed);

  metrics::Registry& registry() { return registry_; }

 private:
  Outcome count(const Subject& subject, const Notes& notes, Outcome outcome,
                std::chrono::nanoseconds length);
  void count_status(int status);
  void count_claims(const Notes& notes, std::string_view event_type);
  void count_document(const Notes& notes, Outcome outcome, std::chrono::nanoseconds length);
  void write_outcomes(metrics::Exposition& out) const;
  void write_statuses(metrics::Exposition& out) const;

  const Door door_;
  metrics::Registry registry_;
  metrics::Family<metrics::Counter>& skipped_;
  metrics::Family<metrics::Counter>& invalid_;
  metrics::Family<metrics::Counter>& errors_;
  metrics::Family<metrics::Counter>& operations_;
  metrics::Family<metrics::Gauge>& sizes_;
  metrics::Histogram& check_seconds_;
  metrics::Histogram& update_seconds_;
  metrics::Counter& conflicts_;
  metrics::Counter& retry_success_;
  metrics::Counter& retry_failed_;
  metrics::Counter& checks_;
  metrics::Counter& marks_;
  metrics::Counter& removals_;
  metrics::Counter& cleanups_;

  // Counted for every request, so by index and not by name.
  std::array<std::array<metrics::Counter, kOutcomes>, kPrimitives> outcomes_;
  std::array<metrics::Counter, 600> statuses_;

  const metrics::Registry::Collecting collecting_;  // Last: it uses all of the above.
};

}  // namespace once::api

#include "metrics/answer_metrics.h"

namespace once::metrics {
namespace {

// Bounds of histogram buckets, in seconds.
const std::vector<double> kBounds = {0.0001, 0.0005, 0.001, 0.01, 0.1, 1, 10};

// Failures that the caller did not cause.
bool is_error(Outcome outcome) {
  return outcome == Outcome::overloaded || outcome == Outcome::unavailable ||
         outcome == Outcome::unknown || outcome == Outcome::corrupt;
}

bool is_idempotency(Primitive primitive) {
  return primitive == Primitive::claims || primitive == Primitive::seen ||
         primitive == Primitive::events || primitive == Primitive::proxy;
}

bool exists_from_start(Door door, Primitive primitive, Outcome outcome) {
  if ((door == Door::proxy) != (primitive == Primitive::proxy)) return false;
  if (door == Door::proxy) {
    return outcome == Outcome::executed || outcome == Outcome::replayed ||
           outcome == Outcome::unknown || outcome == Outcome::unguarded;
  }
  if (outcome == Outcome::executed) return true;
  return outcome == Outcome::unguarded && is_idempotency(primitive);
}

Primitive primitive_at(std::size_t index) { return static_cast<Primitive>(index); }
Outcome outcome_at(std::size_t index) { return static_cast<Outcome>(index); }

}  // namespace

std::string_view name_of(Primitive primitive) {
  switch (primitive) {
    case Primitive::claims: return "claims";
    case Primitive::seen: return "seen";
    case Primitive::log: return "log";
    case Primitive::documents: return "documents";
    case Primitive::tallies: return "tallies";
    case Primitive::effects: return "effects";
    case Primitive::events: return "events";
    case Primitive::proxy: return "proxy";
    case Primitive::other: return "other";
  }
  return "";
}

Outcome outcome_of(const Subject& subject, const Response& response) {
  if (response.telemetry.outcome) return *response.telemetry.outcome;
  if (response.headers.find("Idempotent-Replayed")) return Outcome::replayed;
  return subject.reads ? Outcome::read : Outcome::executed;
}

Outcome outcome_of_part(const Telemetry& telemetry) {
  if (telemetry.outcome) return *telemetry.outcome;
  return telemetry.duplicates > 0 ? Outcome::replayed : Outcome::executed;
}

AnswerMetrics::AnswerMetrics(Door door)
    : door_(door),
      skipped_(registry_.counters({"duplicate_events_skipped_total",
                                   "Duplicates that were answered from memory, by the type of the "
                                   "CloudEvent, or claims or seen.",
                                   {"event_type"}})),
      invalid_(registry_.counters({"validation_errors_total",
                                   "Requests refused as invalid, by the type of the CloudEvent, or "
                                   "the primitive they were for.",
                                   {"event_type"}})),
      errors_(registry_.counters({"idempotency_errors_total",
                                  "Claims, seen and events that failed for no fault of the caller.",
                                  {"reason"}})),
      operations_(registry_.counters({"idempotency_cache_operations_total",
                                      "Keys checked, marked as done, freed or forgotten, and items "
                                      "removed by the sweep after they expired.",
                                      {"operation"}})),
      sizes_(registry_.gauges({"idempotency_cache_size",
                               "Items in the store at the latest sweep, of every kind: those that "
                               "were left, and the expired ones that it removed.",
                               {"status"}})),
      check_seconds_(registry_.histogram("idempotency_check_duration_seconds",
                                         "From a request to claim, or to mark as seen, to its "
                                         "answer; without those that wait for another holder.",
                                         kBounds)),
      update_seconds_(registry_.histogram(
          "once_doc_update_seconds",
          "From a request to change a document to its answer, pauses and retries included.",
          kBounds)),
      conflicts_(registry_.counter("once_doc_conflicts_total",
                                   "Times that a change of a document met another's.")),
      retry_success_(registry_.counter("once_doc_retry_success_total",
                                       "Changes of documents that were made after a conflict.")),
      retry_failed_(registry_.counter("once_doc_retry_failed_total",
                                      "Changes of documents given up after the last retry.")),
      checks_(operations_.with({"check"})),
      marks_(operations_.with({"mark"})),
      removals_(operations_.with({"remove"})),
      cleanups_(operations_.with({"cleanup"})),
      collecting_(registry_, [this](Exposition& out) {
        write_outcomes(out);
        write_statuses(out);
      }) {
  // These exist from the start, so that their first event is seen as a rise from 0.
  for (std::size_t i = 0; i < wire::kOutcomes; ++i) {
    if (is_error(outcome_at(i))) (void)errors_.with({name_of(outcome_at(i))});
  }
  if (door == Door::proxy) {
    (void)skipped_.with({name_of(Primitive::proxy)});
  } else {
    (void)skipped_.with({name_of(Primitive::claims)});
    (void)skipped_.with({name_of(Primitive::seen)});
  }
}

Outcome AnswerMetrics::answered(const Subject& subject, const Response& response,
                                std::chrono::nanoseconds duration) {
  const Outcome outcome = outcome_of(subject, response);
  count_status(response.status);
  if (subject.primitive != Primitive::other && !response.telemetry.waited) {
    latencies_.observe(duration);
  }
  if (response.telemetry.parts.empty())
    return count(subject, response.telemetry, outcome, duration);
  for (const Telemetry& part : response.telemetry.parts) {
    count(subject, part, outcome_of_part(part), duration);
  }
  return outcome;
}

Outcome AnswerMetrics::count(const Subject& subject, const Telemetry& telemetry, Outcome outcome,
                             std::chrono::nanoseconds duration) {
  const std::string_view type = telemetry.event_type.empty()
                                    ? name_of(subject.primitive)
                                    : std::string_view(telemetry.event_type);
  outcomes_[static_cast<std::size_t>(subject.primitive)][static_cast<std::size_t>(outcome)].add();
  count_claims(telemetry, type);
  if (outcome == Outcome::invalid) invalid_.with({type}).add();
  if (is_error(outcome) && is_idempotency(subject.primitive)) {
    errors_.with({name_of(outcome)}).add();
  }
  if (telemetry.ignored_error) errors_.with({name_of(*telemetry.ignored_error)}).add();
  // The duration of a proxy's answer is its upstream's; the proxy reports the check by checked().
  const bool is_check = telemetry.checked > 0 && subject.primitive != Primitive::proxy;
  if (is_check && !telemetry.waited)
    check_seconds_.observe(telemetry.check_duration.value_or(duration));
  if (subject.primitive == Primitive::documents && !subject.reads) {
    count_document(telemetry, outcome, duration);
  }
  return outcome;
}

void AnswerMetrics::count_status(int status) {
  if (status >= 0 && static_cast<std::size_t>(status) < statuses_.size()) {
    statuses_[static_cast<std::size_t>(status)].add();
  }
}

void AnswerMetrics::count_claims(const Telemetry& telemetry, std::string_view event_type) {
  if (telemetry.checked > 0) checks_.add(telemetry.checked);
  if (telemetry.marked > 0) marks_.add(telemetry.marked);
  if (telemetry.removed > 0) removals_.add(telemetry.removed);
  if (telemetry.duplicates > 0) skipped_.with({event_type}).add(telemetry.duplicates);
}

void AnswerMetrics::count_document(const Telemetry& telemetry, Outcome outcome,
                                   std::chrono::nanoseconds duration) {
  update_seconds_.observe(duration);
  if (telemetry.conflicts == 0) return;
  conflicts_.add(telemetry.conflicts);
  if (outcome == Outcome::executed) retry_success_.add();
  if (outcome == Outcome::contended) retry_failed_.add();
}

void AnswerMetrics::swept(std::size_t left, std::size_t removed) {
  sizes_.with({"total"}).set(static_cast<double>(left));
  sizes_.with({"expired"}).set(static_cast<double>(removed));
  cleanups_.add(removed);
}

void AnswerMetrics::write_outcomes(Exposition& out) const {
  out.family("once_outcomes_total", "Answers, by what they were about and what came of it.",
             Exposition::Type::counter);
  for (std::size_t i = 0; i < kPrimitives; ++i) {
    for (std::size_t k = 0; k < wire::kOutcomes; ++k) {
      const std::uint64_t count = outcomes_[i][k].value();
      if (count == 0 && !exists_from_start(door_, primitive_at(i), outcome_at(k))) continue;
      out.sample({{"primitive", name_of(primitive_at(i))}, {"outcome", name_of(outcome_at(k))}},
                 count);
    }
  }
}

void AnswerMetrics::write_statuses(Exposition& out) const {
  out.family("once_http_responses_total", "Answers, by their HTTP status.",
             Exposition::Type::counter);
  for (std::size_t status = 0; status < statuses_.size(); ++status) {
    const std::uint64_t count = statuses_[status].value();
    if (count == 0 && status != 200 && status != 500 && status != 503) continue;
    const std::string text = std::to_string(status);
    out.sample({{"status", text}}, count);
  }
}

}  // namespace once::metrics

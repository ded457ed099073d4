#include "wire/worker_status.h"

#include "wire/text.h"

namespace once::wire {
namespace {

constexpr double kMilliseconds = 1'000;  // Of a second.

std::optional<std::int64_t> read_waiting(JsonReader& body) {
  if (!body.any("waiting")) return std::nullopt;
  return body.integer("waiting");
}

std::optional<Duration> read_lag(JsonReader& body) {
  if (!body.any("lag_seconds")) return std::nullopt;
  const std::optional<Duration> lag = duration_of_seconds(body.number("lag_seconds"));
  if (!lag) body.fail();
  return lag;
}

}  // namespace

std::string encode(const WorkerStatus& status) {
  JsonObject body;
  if (!status.id.empty()) body.text("id", status.id);
  body.text("kind", status.kind).text("name", status.name);
  body.text("host", status.host).integer("pid", status.pid);
  body.time("started_at", status.started_at).time("at", status.at);
  body.integer("in_flight", status.in_flight).integer("done", status.done);
  body.integer("duplicates", status.duplicates).integer("failed", status.failed);
  body.integer("dead", status.dead);
  body.raw("waiting", status.waiting ? std::to_string(*status.waiting) : "null");
  const double lag = status.lag ? static_cast<double>(status.lag->count()) / kMilliseconds : 0;
  body.raw("lag_seconds", status.lag ? number_text(lag) : "null");
  return body.finish();
}

Result<WorkerStatus> decode_worker_status(std::string_view body) {
  JsonReader reader(body);
  WorkerStatus status;
  status.kind = reader.text("kind");
  status.name = reader.text("name");
  status.host = reader.text("host");
  status.pid = reader.integer("pid");
  status.started_at = reader.time("started_at");
  status.at = reader.time("at");
  status.in_flight = reader.integer("in_flight");
  status.done = reader.integer("done");
  status.duplicates = reader.integer("duplicates");
  status.failed = reader.integer("failed");
  status.dead = reader.integer("dead");
  status.waiting = read_waiting(reader);
  status.lag = read_lag(reader);
  if (reader.readable()) return status;
  return failure(ErrorCode::corrupt, "the record of a worker is damaged");
}

}  // namespace once::wire

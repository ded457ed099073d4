#include <limits>

#include "api/call.h"
#include "api/events.h"
#include "api/follow.h"
#include "once/log.h"
#include "primitives/keys.h"

namespace once::api {
namespace {

constexpr std::int64_t kDefaultLimit = 100;

struct Appending {
  std::vector<LogEvent> events;
  std::optional<std::string> batch;
  std::optional<std::int64_t> expect;
  std::optional<Duration> ttl;
};

Result<Appending> appending_of_json(const Call& call) {
  const Result<Json> body = call.json();
  if (!body) return std::unexpected(body.error());
  Fields fields(*body);
  Appending wanted{take_events(fields, call.form), fields.text("batch"), fields.integer("expect"),
                   fields.duration("ttl")};
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return wanted;
}

// Lines leave no room for anything else, which is in the query then.
Result<Appending> appending_of_lines(Call& call, Result<std::vector<LogEvent>> events) {
  if (!events) return std::unexpected(std::move(events.error()));
  const auto expect = call.integer("expect");
  if (!expect) return std::unexpected(expect.error());
  const auto ttl = call.duration("ttl");
  if (!ttl) return std::unexpected(ttl.error());
  return Appending{std::move(*events), call.parameter("batch"), *expect, *ttl};
}

Result<Appending> appending_of(Call& call) {
  const std::string type = media_type(call.request.headers);
  if (type == "text/plain") return appending_of_lines(call, events_of_text(call.request.body));
  if (type == "application/x-ndjson") {
    return appending_of_lines(call, events_of_ndjson(call.request.body));
  }
  return appending_of_json(call);
}

Result<void> check(const Appending& wanted) {
  if (wanted.expect && *wanted.expect < 1) {
    return failure(ErrorCode::invalid, "expect is an index, from 1");
  }
  if (wanted.batch) {
    if (Result<void> ok = keys::check_name(*wanted.batch); !ok) return ok;
  }
  return check_count(wanted.events);
}

Response response_of(const AppendOutcome& outcome) {
  if (const auto* refused = std::get_if<NotNext>(&outcome)) {
    return Problem(Code::precondition_failed, "the next index is not the expected one")
        .integer("next", refused->next)
        .finish();
  }
  if (std::holds_alternative<OtherBatch>(outcome)) {
    return problem(Code::mismatch, "the batch id was used with other events");
  }
  const auto& appended = std::get<Appended>(outcome);
  std::string body =
      JsonObject().integer("first", appended.first).integer("last", appended.last).finish();
  return appended.replayed ? replayed(json_response(200, std::move(body)))
                           : json_response(201, std::move(body));
}

Plan<Response> appended(logs::Stream stream, std::vector<LogEvent> events, AppendRequest request,
                        logs::KnownEnds* known) {
  const AppendOutcome outcome =
      co_await logs::append(std::move(stream), std::move(events), std::move(request), known);
  co_return response_of(outcome);
}

Plan<Response> page_of(logs::Stream stream, LogRead request, DataForm form) {
  const LogPage page = co_await logs::read(std::move(stream), request);
  const auto shown = [form](const LogEntry& entry) { return event_json(entry, form); };
  JsonObject body;
  body.raw("events", json_array(page.events, shown)).integer("next", page.next);
  co_return json_response(200, body.finish());
}

Plan<Response> trimmed(logs::Stream stream, std::int64_t before) {
  const LogEnds ends = co_await logs::trim(std::move(stream), before);
  co_return json_response(
      200, JsonObject().integer("oldest", ends.oldest).integer("next", ends.next).finish());
}

// Where a page begins that says nothing of it: at the end to which it reads on.
std::int64_t default_from(Direction order) {
  return order == Direction::ascending ? 1 : std::numeric_limits<std::int64_t>::max();
}

Result<LogRead> reading_of(Call& call) {
  const std::string order = call.parameter("order").value_or("asc");
  if (order != "asc" && order != "desc") {
    return failure(ErrorCode::invalid, "order is asc or desc");
  }
  LogRead wanted{.order = order == "asc" ? Direction::ascending : Direction::descending};
  const auto from = call.integer("from");
  if (!from) return std::unexpected(from.error());
  wanted.from = from->value_or(default_from(wanted.order));
  const auto limit = call.integer("limit");
  if (!limit) return std::unexpected(limit.error());
  const std::int64_t most = limit->value_or(kDefaultLimit);
  if (most < 1 || most > 10'000) return failure(ErrorCode::invalid, "limit is 1 to 10000");
  if (wanted.from < 0) return failure(ErrorCode::invalid, "from is an index, from 1");
  wanted.limit = static_cast<std::size_t>(most);
  return wanted;
}

}  // namespace

Answer append_log(Call& call) {
  Result<Appending> wanted = appending_of(call);
  if (!wanted) return problem(wanted.error());
  if (Result<void> ok = check(*wanted); !ok) return problem(ok.error());
  AppendRequest request{
      .batch = wanted->batch.value_or(""), .expect = wanted->expect, .ttl = wanted->ttl};
  return appended(logs::stream(call.name_space, call.name), std::move(wanted->events),
                  std::move(request), &call.service.known_ends());
}

Answer read_log(Call& call) {
  const Result<bool> follows = wants_to_follow(call);
  if (!follows) return problem(follows.error());
  if (*follows) return problem(Code::unsupported, "a log is followed through a server");
  const Result<LogRead> wanted = reading_of(call);
  if (!wanted) return problem(wanted.error());
  return page_of(logs::stream(call.name_space, call.name), *wanted, call.form);
}

Answer trim_log(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  fields.require("before");
  const std::optional<std::int64_t> before = fields.integer("before");
  if (before && *before < 0) fields.complain("before", "is not an index");
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  return trimmed(logs::stream(call.name_space, call.name), *before);
}

}  // namespace once::api

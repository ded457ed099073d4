#include <limits>

#include "api/audit.h"
#include "api/call.h"
#include "api/follow.h"
#include "once/log.h"
#include "wire/bulk.h"
#include "wire/log.h"

namespace once::api {
namespace {

constexpr std::int64_t kDefaultLimit = 100;

// Lines leave no room for the other fields: they are in the query then.
Result<wire::AppendBatch> batch_of_lines(Call& call, Result<std::vector<LogEvent>> events) {
  if (!events) return std::unexpected(std::move(events.error()));
  const auto expect = call.integer("expect");
  if (!expect) return std::unexpected(expect.error());
  const auto ttl = call.duration("ttl");
  if (!ttl) return std::unexpected(ttl.error());
  wire::AppendBatch batch;
  batch.events = std::move(*events);
  batch.batch = call.parameter("batch");
  batch.expect = *expect;
  batch.ttl = *ttl;
  return batch;
}

Result<wire::AppendBatch> batch_of(Call& call) {
  const std::string& body = call.request.body;
  const std::string type = media_type(call.request.headers);
  if (type == "text/plain") return batch_of_lines(call, wire::events_of_text(body));
  if (type == "application/x-ndjson") return batch_of_lines(call, wire::events_of_ndjson(body));
  return wire::decode_append(body, call.form);
}

Plan<Response> answer_append(logs::Stream stream, std::string name, std::vector<LogEvent> events,
                             AppendRequest request, logs::KnownEnds* known) {
  const AppendOutcome outcome =
      co_await logs::append(std::move(stream), std::move(events), std::move(request), known);
  Response response = wire::encode(outcome);
  response.telemetry.appended.push_back(std::move(name));
  co_return response;
}

Plan<Response> answer_append_events(logs::Stream stream, std::string name, wire::AppendBatch batch,
                                    AppendRequest request, logs::KnownEnds* known) {
  logs::EventIds ids{.ids = std::move(batch.ids)};
  if (batch.id_ttl) ids.ttl = *batch.id_ttl;
  const logs::EventsOutcome outcome = co_await logs::append_events(
      std::move(stream), std::move(batch.events), std::move(ids), std::move(request), known);
  Response response = wire::encode(outcome);
  response.telemetry.appended.push_back(std::move(name));
  co_return response;
}

Plan<Response> answer_read_log(logs::Stream stream, LogRead request, DataForm form) {
  const LogPage page = co_await logs::read(std::move(stream), request);
  co_return wire::encode(page, form);
}

Plan<Response> answer_trim(logs::Stream stream, std::int64_t before, Recording recording) {
  const LogEnds ends = co_await logs::trim(std::move(stream), before, std::move(recording));
  co_return wire::encode(ends);
}

Plan<Response> answer_close(logs::Stream stream, std::string name, std::optional<Duration> ttl,
                            DataForm form) {
  const std::optional<LogEnds> ends = co_await logs::close(std::move(stream), ttl);
  Response response = wire::encode_closed(ends, form);
  response.telemetry.appended.push_back(std::move(name));  // Wakes its followers.
  co_return response;
}

Plan<Response> answer_remove(logs::Stream stream, Recording recording) {
  const LogRemoval removal = co_await logs::remove(std::move(stream), std::move(recording));
  co_return wire::encode(removal);
}

Plan<Response> answer_list_logs(std::string name_space, wire::ListingRequest request) {
  const LogList list =
      co_await logs::list(name_space, request.prefix, request.cursor, request.limit);
  co_return wire::encode(list);
}

// Only closed logs are removed; open ones are left out.
Plan<Response> answer_delete_logs(std::string name_space, wire::BulkRemoval removal,
                                  Recording recording) {
  const Listing& listing = removal.listing;
  const LogList found =
      co_await logs::list(name_space, listing.prefix, listing.cursor, listing.limit);
  BulkRemoved removed{.cursor = found.cursor};
  for (const ListedLog& log : found.logs) {
    if (!log.ends.closed) continue;
    LogRemoval answer = LogRemoval::removed;
    const logs::Stream stream = logs::stream(name_space, log.stream);
    if (removal.run == BulkRun::wet) answer = co_await logs::remove(stream, recording);
    if (answer == LogRemoval::removed) ++removed.count;
  }
  co_return wire::encode(removed);
}

// Where a page begins by default: at the end that it reads away from.
std::int64_t default_from(Direction order) {
  return order == Direction::ascending ? 1 : std::numeric_limits<std::int64_t>::max();
}

Result<LogRead> page_of(Call& call) {
  const std::string order = call.parameter("order").value_or("asc");
  if (order != "asc" && order != "desc") {
    return failure(ErrorCode::invalid, "order is asc or desc");
  }
  LogRead wanted{.order = order == "asc" ? Direction::ascending : Direction::descending};
  const auto from = call.integer("from");
  if (!from) return std::unexpected(from.error());
  wanted.from = from->value_or(default_from(wanted.order));
  const auto since = call.time("since");
  if (!since) return std::unexpected(since.error());
  if (*since && (*from || wanted.order != Direction::ascending)) {
    return failure(ErrorCode::invalid, "since takes the place of from, with order=asc");
  }
  wanted.since = *since;
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
  Result<wire::AppendBatch> batch = batch_of(call);
  if (!batch) return problem(batch.error());
  if (Result<void> ok = wire::check(*batch); !ok) return problem(ok.error());
  AppendRequest request{
      .batch = batch->batch.value_or(""), .expect = batch->expect, .ttl = batch->ttl};
  if (!batch->ids.empty()) {
    return answer_append_events(logs::stream(call.name_space, call.name), call.name,
                                std::move(*batch), std::move(request), &call.service.known_ends());
  }
  return answer_append(logs::stream(call.name_space, call.name), call.name,
                       std::move(batch->events), std::move(request), &call.service.known_ends());
}

Answer read_log(Call& call) {
  const Result<bool> follows = wants_to_follow(call);
  if (!follows) return problem(follows.error());
  if (*follows) return problem(Code::unsupported, "a log is followed through a server");
  const Result<LogRead> wanted = page_of(call);
  if (!wanted) return problem(wanted.error());
  return answer_read_log(logs::stream(call.name_space, call.name), *wanted, call.form);
}

Answer trim_log(Call& call) {
  const Result<wire::TrimRequest> request = wire::decode_trim_request(call.request.body);
  if (!request) return problem(request.error());
  return answer_trim(logs::stream(call.name_space, call.name), request->before,
                     audit_of(call, "log.trim", "\"before\":" + std::to_string(request->before)));
}

Answer close_log(Call& call) {
  const Result<wire::CloseRequest> request = wire::decode_close_request(call.request.body);
  if (!request) return problem(request.error());
  return answer_close(logs::stream(call.name_space, call.name), call.name, request->ttl, call.form);
}

Answer remove_log(Call& call) {
  return answer_remove(logs::stream(call.name_space, call.name), audit_of(call, "log.delete"));
}

Answer list_logs(Call& call) {
  Result<wire::ListingRequest> request = call.listing();
  if (!request) return problem(request.error());
  return answer_list_logs(call.name_space, std::move(*request));
}

Answer delete_logs(Call& call) {
  Result<wire::BulkRemoval> removal = wire::decode_bulk_removal(call.request.body);
  if (!removal) return problem(removal.error());
  return answer_delete_logs(call.name_space, std::move(*removal), audit_of(call, "log.delete"));
}

}  // namespace once::api

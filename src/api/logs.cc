#include <limits>

#include "api/call.h"
#include "api/follow.h"
#include "once/log.h"
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
  return wire::AppendBatch{std::move(*events), call.parameter("batch"), *expect, *ttl};
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

Plan<Response> answer_read_log(logs::Stream stream, LogRead request, DataForm form) {
  const LogPage page = co_await logs::read(std::move(stream), request);
  co_return wire::encode(page, form);
}

Plan<Response> answer_trim(logs::Stream stream, std::int64_t before) {
  const LogEnds ends = co_await logs::trim(std::move(stream), before);
  co_return wire::encode(ends);
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
  return answer_trim(logs::stream(call.name_space, call.name), request->before);
}

}  // namespace once::api

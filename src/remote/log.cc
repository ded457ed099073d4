#include "remote/log.h"

#include <limits>
#include <utility>

#include "base/names.h"
#include "wire/log.h"

namespace once::remote {

// A batch without an id gets one of its own, so that it is appended once although an answer is
// lost.
Result<AppendOutcome> RemoteLog::append(std::string_view stream, std::vector<LogEvent> events,
                                        const AppendRequest& wanted, Duration within) {
  const bool own_id = wanted.batch.empty();
  if (!own_id) {
    if (Result<void> ok = keys::check_name(wanted.batch); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  const wire::AppendBatch batch{std::move(events), own_id ? server_.new_id() : wanted.batch,
                                wanted.expect, wanted.ttl};
  Result<std::string> body = wire::encode(batch, server_.form());
  if (!body) return std::unexpected(std::move(body.error()));
  Result<wire::Request> request = server_.request("POST", "logs", stream);
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = std::move(*body);
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  Result<AppendOutcome> outcome = wire::decode_append_outcome(called->response);
  auto* const appended = outcome ? std::get_if<Appended>(&*outcome) : nullptr;
  if (appended != nullptr && (own_id || called->was_retried)) appended->replayed = false;
  return outcome;
}

Result<LogPage> RemoteLog::read(std::string_view stream, const LogRead& wanted, Duration within) {
  Result<wire::Request> request = server_.request("GET", "logs", stream);
  if (!request) return std::unexpected(std::move(request.error()));
  request->target = wire::target_of(stream, wanted);
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_log_page(called->response, server_.form());
}

// Reads the event at each end, which a token that may only read may do, too.
Result<LogEnds> RemoteLog::ends(std::string_view stream, Duration within) {
  const Deadline deadline(server_.clock(), within);
  const Result<LogPage> oldest = read(stream, {.from = 1, .limit = 1}, within);
  if (!oldest) return std::unexpected(oldest.error());
  if (oldest->events.empty()) return LogEnds{oldest->next, oldest->next};
  const LogRead last{
      .from = std::numeric_limits<std::int64_t>::max(), .limit = 1, .order = Direction::descending};
  const Result<LogPage> newest = read(stream, last, deadline.left());
  if (!newest) return std::unexpected(newest.error());
  const std::int64_t first = oldest->events.front().index;
  const bool trimmed_since = newest->events.empty() || newest->events.front().index < first;
  const std::int64_t next = trimmed_since ? oldest->next : newest->events.front().index + 1;
  return LogEnds{trimmed_since ? next : first, next};
}

Result<LogEnds> RemoteLog::trim(std::string_view stream, std::int64_t before, Duration within) {
  Result<wire::Request> request = server_.request("POST", "logs", stream, "trim");
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = wire::encode(wire::TrimRequest{before});
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_log_ends(called->response);
}

Result<std::int64_t> RemoteLog::heal(std::string_view, Duration, Duration) {
  return failure(ErrorCode::unsupported,
                 "a server's logs are of strategy conditional, which has nothing to heal");
}

}  // namespace once::remote

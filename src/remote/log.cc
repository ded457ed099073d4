#include "remote/log.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/names.h"
#include "wire/log.h"

namespace once::remote {
namespace {

// Repeated if the answer is lost: what is sent has ids of its own.
Result<CallResult> send_batch(ServerClient& server, std::string_view stream,
                              const wire::AppendBatch& batch, Duration within) {
  Result<std::string> body = wire::encode(batch, server.form());
  if (!body) return std::unexpected(std::move(body.error()));
  Result<wire::Request> request = server.request("POST", "logs", stream);
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = std::move(*body);
  return server.call(*request, Repeat::safe, within);
}

}  // namespace

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
  wire::AppendBatch batch;
  batch.events = std::move(events);
  batch.batch = own_id ? server_.new_id() : wanted.batch;
  batch.expect = wanted.expect;
  batch.ttl = wanted.ttl;
  const Result<CallResult> called = send_batch(server_, stream, batch, within);
  if (!called) return std::unexpected(called.error());
  Result<AppendOutcome> outcome = wire::decode_append_outcome(called->response);
  auto* const appended = outcome ? std::get_if<Appended>(&*outcome) : nullptr;
  if (appended != nullptr && (own_id || called->was_retried)) appended->replayed = false;
  return outcome;
}

// Without a batch id the same: then a repeat after a lost answer appends no event twice.
Result<logs::EventsOutcome> RemoteLog::append_events(std::string_view stream,
                                                     std::vector<LogEvent> events,
                                                     logs::EventIds ids,
                                                     const AppendRequest& wanted, Duration within) {
  if (ids.ids.size() != events.size()) {
    return failure(ErrorCode::invalid, "there are as many ids as events, empty ones among them");
  }
  const bool none = std::ranges::all_of(ids.ids, [](const auto& id) { return id.empty(); });
  if (none) return failure(ErrorCode::invalid, "no event has an id");
  const bool named = std::ranges::all_of(ids.ids, [](const auto& id) { return !id.empty(); });
  wire::AppendBatch batch;
  batch.events = std::move(events);
  batch.ids = std::move(ids.ids);
  batch.id_ttl = ids.ttl;
  batch.expect = wanted.expect;
  batch.ttl = wanted.ttl;
  if (!wanted.batch.empty()) batch.batch = wanted.batch;
  if (wanted.batch.empty() && !named) batch.batch = server_.new_id();
  const Result<CallResult> called = send_batch(server_, stream, batch, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_events_outcome(called->response);
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
  if (oldest->events.empty()) return LogEnds{oldest->next, oldest->next, oldest->closed};
  const LogRead last{
      .from = std::numeric_limits<std::int64_t>::max(), .limit = 1, .order = Direction::descending};
  const Result<LogPage> newest = read(stream, last, deadline.left());
  if (!newest) return std::unexpected(newest.error());
  const std::int64_t first = oldest->events.front().index;
  const bool trimmed_since = newest->events.empty() || newest->events.front().index < first;
  const std::int64_t next = trimmed_since ? oldest->next : newest->events.front().index + 1;
  return LogEnds{trimmed_since ? next : first, next, newest->closed};
}

Result<LogEnds> RemoteLog::trim(std::string_view stream, std::int64_t before, Duration within) {
  Result<wire::Request> request = server_.request("POST", "logs", stream, "trim");
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = wire::encode(wire::TrimRequest{before});
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_log_ends(called->response);
}

Result<std::optional<LogEnds>> RemoteLog::close(std::string_view stream,
                                                std::optional<Duration> ttl, Duration within) {
  Result<wire::Request> request = server_.request("POST", "logs", stream, "close");
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = wire::encode(wire::CloseRequest{ttl});
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_closed(called->response);
}

// Sent once: a repeat might remove a log that was begun and closed since.
Result<LogRemoval> RemoteLog::remove(std::string_view stream, Duration within) {
  const Result<wire::Request> request = server_.request("DELETE", "logs", stream);
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::never, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_log_removal(called->response);
}

Result<LogList> RemoteLog::list(std::string_view prefix, std::string cursor, std::size_t limit,
                                Duration within) {
  const wire::ListingRequest page{std::string(prefix), std::move(cursor), limit};
  const Result<wire::Request> request = server_.request("GET", wire::target_of_logs(page));
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_log_list(called->response);
}

Result<std::int64_t> RemoteLog::heal(std::string_view, Duration, Duration) {
  return failure(ErrorCode::unsupported,
                 "a server's logs are of strategy conditional, which has nothing to heal");
}

}  // namespace once::remote

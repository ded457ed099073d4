#include "remote/claims.h"

#include <algorithm>
#include <utility>

#include "api/data_form.h"
#include "api/text.h"
#include "primitives/keys.h"
#include "remote/reading.h"

namespace once::remote {
namespace {

using api::DataForm;
using api::JsonObject;

constexpr Duration kLongestWait = std::chrono::minutes(5);  // That a server waits in one call.

// A label need not be UTF-8, but an id that was changed on the way would be another's.
Result<void> check_request(const std::string& request) {
  if (request.size() <= kMaxLabel && api::is_utf8(request)) return {};
  return failure(ErrorCode::invalid, "a request id is up to 512 bytes of UTF-8");
}

Result<ClaimOutcome> outcome_of(const api::Response& response) {
  const std::string code = code_of(response);
  if (code == "mismatch") return Mismatch{};
  Reading body(response);
  ClaimOutcome outcome = Unguarded{};
  if (code == "busy") {
    outcome = Busy{body.text("owner"), body.time("lease_until"), {}};
  } else if (!code.empty()) {
    return misunderstanding();
  } else if (const std::string state = body.text("state"); state == "claimed") {
    outcome = Claimed{Ticket{body.text("ticket")}, body.integer("fence"), body.integer("attempt"),
                      body.time("lease_until"), is_replayed(response)};
  } else if (state != "unguarded") {
    const bool failed = state == "failed";
    outcome = Done{body.data(failed ? "failure" : "result"), body.time("completed_at"), failed};
  }
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return outcome;
}

ClaimState state_in(Reading& body) {
  ClaimState state;
  const std::string kind = body.text("state");
  state.owner = body.text("owner");
  state.fence = body.integer("fence");
  state.attempt = body.integer("attempt");
  state.claimed = body.time("claimed_at");
  if (kind == "busy") {
    state.lease_until = body.time("lease_until");
    return state;
  }
  const bool failed = kind == "failed";
  state.kind = failed ? ClaimState::Kind::failed : ClaimState::Kind::done;
  state.completed = body.time("completed_at");
  state.kept_until = api::parse_time(body.text("kept_until")).value_or(kNever);
  state.result = body.data(failed ? "failure" : "result");
  return state;
}

std::string_view name_of(ClaimState::Kind kind) {
  switch (kind) {
    case ClaimState::Kind::busy: return "busy";
    case ClaimState::Kind::done: return "done";
    case ClaimState::Kind::failed: return "failed";
  }
  return "";
}

}  // namespace

// Under one request id for all tries, so that a ticket whose answer was lost is had by asking
// again.
Result<ClaimOutcome> RemoteClaims::ask(std::string_view name, const ClaimRequest& request,
                                       Duration wait) {
  if (Result<void> ok = check_request(request.request); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  Result<api::Request> question = peer_.request("POST", "claims", name);
  if (!question) return std::unexpected(std::move(question.error()));
  const std::string id = request.request.empty() ? peer_.new_id() : request.request;
  const Time until = later(peer_.clock().now(), wait);
  for (;;) {
    const Duration left = std::max(until - peer_.clock().now(), Duration::zero());
    const Duration waiting = std::min(left, kLongestWait);
    JsonObject body;
    body.text("owner", request.owner).text("request", id);
    body.text("lease", duration_text(request.lease)).text("ttl", duration_text(request.ttl));
    if (request.payload) body.raw("payload", api::text_json(*request.payload, DataForm::exact));
    if (waiting > Duration::zero()) body.text("wait", duration_text(waiting));
    question->body = body.finish();
    const Result<Told> told = peer_.ask(*question, Repeat::safe, waiting + kAttemptLife);
    if (!told) return std::unexpected(told.error());
    Result<ClaimOutcome> outcome = outcome_of(told->response);
    auto* const claimed = outcome ? std::get_if<Claimed>(&*outcome) : nullptr;
    if (claimed != nullptr && told->again) claimed->repeated = false;
    const bool busy = outcome && std::holds_alternative<Busy>(*outcome);
    if (!busy || left <= kLongestWait) return outcome;
  }
}

Result<ClaimOutcome> RemoteClaims::take(std::string_view name, const ClaimRequest& request,
                                        Duration wait) {
  return claims::or_proceed(ask(name, request, wait), if_store_down());
}

Result<RenewOutcome> RemoteClaims::renew(std::string_view name, const Ticket& ticket,
                                         Duration lease) {
  return renew_within(name, ticket, lease, kAttemptLife);
}

Result<RenewOutcome> RemoteClaims::renew_within(std::string_view name, const Ticket& ticket,
                                                Duration lease, Duration within) {
  Result<api::Request> question = peer_.request("POST", "claims", name, "renew");
  if (!question) return std::unexpected(std::move(question.error()));
  question->body =
      JsonObject().text("ticket", ticket.text).text("lease", duration_text(lease)).finish();
  const Result<Told> told = peer_.ask(*question, Repeat::safe, within);
  if (!told) return std::unexpected(told.error());
  if (code_of(told->response) == "fenced") return Fenced{};
  Reading body(told->response);
  const Renewed renewed{body.time("lease_until")};
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return renewed;
}

Result<SettleOutcome> RemoteClaims::settle(std::string_view name, std::string_view action,
                                           std::string body) {
  Result<api::Request> question = peer_.request("POST", "claims", name, action);
  if (!question) return std::unexpected(std::move(question.error()));
  question->body = std::move(body);
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  const std::string code = code_of(told->response);
  if (code == "fenced") return Fenced{};
  if (code == "mismatch") return Mismatch{};
  if (!code.empty()) return misunderstanding();
  return Settled{is_replayed(told->response) && !told->again};
}

Result<SettleOutcome> RemoteClaims::complete(std::string_view name, const Ticket& ticket,
                                             Bytes result) {
  return settle(name, "complete",
                JsonObject()
                    .text("ticket", ticket.text)
                    .raw("result", api::text_json(result, DataForm::exact))
                    .finish());
}

Result<SettleOutcome> RemoteClaims::release(std::string_view name, const Ticket& ticket,
                                            Bytes failure, Release how) {
  return settle(name, "release",
                JsonObject()
                    .text("ticket", ticket.text)
                    .raw("failure", api::text_json(failure, DataForm::exact))
                    .boolean("final", how == Release::final)
                    .finish());
}

// A server does not say whether there was something to forget. Sent again, it might forget what
// another has claimed since.
Result<bool> RemoteClaims::forget(std::string_view name) {
  const Result<std::optional<ClaimState>> standing = show(name);
  if (!standing) return std::unexpected(standing.error());
  Result<api::Request> question = peer_.request("DELETE", "claims", name);
  if (!question) return std::unexpected(std::move(question.error()));
  const Result<Told> told = peer_.ask(*question, Repeat::never);
  if (!told) return std::unexpected(told.error());
  return standing->has_value();
}

Result<std::optional<ClaimState>> RemoteClaims::show(std::string_view name) {
  const Result<api::Request> question = peer_.request("GET", "claims", name);
  if (!question) return std::unexpected(question.error());
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  if (code_of(told->response) == "not_found") return std::nullopt;
  Reading body(told->response);
  ClaimState state = state_in(body);
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return state;
}

Result<claims::ClaimPage> RemoteClaims::list(std::optional<ClaimState::Kind> kind,
                                             std::string cursor, std::size_t limit) {
  std::string path = "/v1/claims?limit=";
  path.append(std::to_string(limit));
  if (kind) path.append("&state=").append(name_of(*kind));
  if (!cursor.empty()) path.append("&cursor=").append(api::encode_percent(cursor));
  const Result<api::Request> question = peer_.request("GET", std::move(path));
  if (!question) return std::unexpected(question.error());
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  Reading body(told->response);
  claims::ClaimPage page;
  for (const api::Json& element : body.array("claims")) {
    Reading one(element);
    std::string name = one.text("key");
    page.claims.push_back({std::move(name), state_in(one)});
    if (!one.sound()) body.misunderstood();
  }
  if (body.any("cursor")) page.cursor = body.text("cursor");
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return page;
}

Result<claims::Seen> RemoteClaims::ask_seen(std::span<const std::string> ids, Duration ttl,
                                            const std::string& request) {
  if (Result<void> ok = check_request(request); !ok) return std::unexpected(std::move(ok.error()));
  for (const std::string& id : ids) {
    if (Result<void> ok = keys::check_name(id); !ok) return std::unexpected(std::move(ok.error()));
  }
  Result<api::Request> question = peer_.request("POST", "/v1/seen");
  if (!question) return std::unexpected(std::move(question.error()));
  question->body = JsonObject()
                       .raw("ids", api::json_array(ids, api::json_text))
                       .text("ttl", duration_text(ttl))
                       .text("request", request.empty() ? peer_.new_id() : request)
                       .finish();
  const Result<Told> told = peer_.ask(*question, Repeat::safe);
  if (!told) return std::unexpected(told.error());
  Reading body(told->response);
  std::vector<bool> first;
  for (const api::Json& element : body.array("first")) {
    bool value = false;
    if (element.get(value) != simdjson::SUCCESS) body.misunderstood();
    first.push_back(value);
  }
  if (first.size() != ids.size()) body.misunderstood();
  if (Result<void> ok = body.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return claims::Seen{std::move(first), is_replayed(told->response) && !told->again};
}

Result<std::vector<bool>> RemoteClaims::seen(std::span<const std::string> ids, Duration ttl,
                                             std::string request) {
  if (ids.empty()) return std::vector<bool>();
  Result<claims::Seen> seen =
      claims::or_proceed(ask_seen(ids, ttl, request), ids.size(), if_store_down());
  if (!seen) return std::unexpected(std::move(seen.error()));
  return std::move(seen->first);
}

}  // namespace once::remote

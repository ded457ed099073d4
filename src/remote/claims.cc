#include "remote/claims.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "wire/claims.h"
#include "wire/text.h"

namespace once::remote {
namespace {

constexpr Duration kLongestWait = std::chrono::minutes(5);  // That a server waits in one call.

// A label need not be UTF-8, but a request id that was changed on the way would be another's.
Result<void> check_request(const std::string& request) {
  if (request.size() <= kMaxLabel && wire::is_utf8(request)) return {};
  return failure(ErrorCode::invalid, "a request id is up to 512 bytes of UTF-8");
}

}  // namespace

// All tries have one request id, so that a try after a lost answer gets the ticket that was
// granted.
Result<ClaimOutcome> RemoteClaims::take_guarded(std::string_view name, const ClaimRequest& claim,
                                                Duration wait, Duration within) {
  if (Result<void> ok = check_request(claim.request); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  Result<wire::Request> request = server_.request("POST", "claims", name);
  if (!request) return std::unexpected(std::move(request.error()));
  wire::TakeRequest taking{claim};
  if (taking.claim.request.empty()) taking.claim.request = server_.new_id();
  const Deadline waited(server_.clock(), wait);
  for (;;) {
    const Duration left = waited.left();
    taking.wait = std::min(left, kLongestWait);
    request->body = wire::encode(taking, server_.form());
    const Result<CallResult> called =
        server_.call(*request, Repeat::safe, taking.wait + within, taking.wait);
    if (!called) return std::unexpected(called.error());
    Result<ClaimOutcome> outcome = wire::decode_claim_outcome(called->response, server_.form());
    auto* const claimed = outcome ? std::get_if<Claimed>(&*outcome) : nullptr;
    if (claimed != nullptr && called->was_retried) claimed->repeated = false;
    const bool busy = outcome && std::holds_alternative<Busy>(*outcome);
    if (!busy || left <= kLongestWait) return outcome;
  }
}

Result<ClaimOutcome> RemoteClaims::take(std::string_view name, const ClaimRequest& request,
                                        Duration wait, Duration within) {
  return claims::or_proceed(take_guarded(name, request, wait, within), if_store_down_);
}

Result<RenewOutcome> RemoteClaims::renew(std::string_view name, const Ticket& ticket,
                                         Duration lease, Duration within) {
  Result<wire::Request> request = server_.request("POST", "claims", name, "renew");
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = wire::encode(wire::RenewRequest{ticket, lease});
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_renew_outcome(called->response);
}

Result<SettleOutcome> RemoteClaims::settle(std::string_view name, std::string_view action,
                                           std::string body, Duration within) {
  Result<wire::Request> request = server_.request("POST", "claims", name, action);
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = std::move(body);
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  Result<SettleOutcome> outcome = wire::decode_settle_outcome(called->response);
  auto* const settled = outcome ? std::get_if<Settled>(&*outcome) : nullptr;
  if (settled != nullptr && called->was_retried) settled->replayed = false;
  return outcome;
}

Result<SettleOutcome> RemoteClaims::complete(std::string_view name, const Ticket& ticket,
                                             Bytes result, Duration within) {
  const wire::CompleteRequest request{ticket, std::move(result)};
  return settle(name, "complete", wire::encode(request, server_.form()), within);
}

Result<SettleOutcome> RemoteClaims::release(std::string_view name, const Ticket& ticket,
                                            Bytes failure, Release how, Duration within) {
  const wire::ReleaseRequest request{ticket, std::move(failure), how};
  return settle(name, "release", wire::encode(request, server_.form()), within);
}

// Sent once: a repeat might forget what another has claimed since.
Result<bool> RemoteClaims::forget(std::string_view name, Duration within) {
  const Result<wire::Request> request = server_.request("DELETE", "claims", name);
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::never, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_forgotten(called->response);
}

Result<std::optional<ClaimState>> RemoteClaims::show(std::string_view name, Duration within) {
  const Result<wire::Request> request = server_.request("GET", "claims", name);
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_claim_state(called->response, server_.form());
}

Result<claims::ClaimPage> RemoteClaims::list(const claims::ClaimFilter& filter, std::string cursor,
                                             std::size_t limit, Duration within) {
  const wire::ClaimListRequest page{filter, std::move(cursor), limit};
  const Result<wire::Request> request = server_.request("GET", wire::target_of(page));
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_claim_page(called->response, server_.form());
}

Result<claims::Seen> RemoteClaims::mark_guarded(std::span<const std::string> ids, Duration ttl,
                                                const std::string& id, Duration within) {
  if (Result<void> ok = check_request(id); !ok) return std::unexpected(std::move(ok.error()));
  for (const std::string& one : ids) {
    if (Result<void> ok = keys::check_name(one); !ok) return std::unexpected(std::move(ok.error()));
  }
  Result<wire::Request> request = server_.request("POST", "/v1/seen");
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = wire::encode(
      wire::SeenRequest{{ids.begin(), ids.end()}, ttl, id.empty() ? server_.new_id() : id});
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_seen(called->response, ids.size());
}

Result<claims::Seen> RemoteClaims::mark(std::span<const std::string> ids, Duration ttl,
                                        std::string request, Duration within) {
  if (ids.empty()) return claims::Seen{};
  return claims::or_proceed(mark_guarded(ids, ttl, request, within), ids.size(), if_store_down_);
}

Result<std::optional<claims::SeenMark>> RemoteClaims::show_seen(std::string_view id,
                                                                Duration within) {
  const Result<wire::Request> request = server_.request("GET", "seen", id);
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_seen_mark(called->response);
}

// Sent once, as forget().
Result<bool> RemoteClaims::forget_seen(std::string_view id, Duration within) {
  const Result<wire::Request> request = server_.request("DELETE", "seen", id);
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::never, within);
  if (!called) return std::unexpected(called.error());
  return called->response.status == 204;
}

// Sent once, as forget(): the caller knows by its filter whether a repeat would be harmless.
Result<claims::BulkOutcome> RemoteClaims::in_bulk(std::string_view action, std::string_view counted,
                                                  const claims::BulkRequest& bulk,
                                                  Duration within) {
  Result<wire::Request> request =
      server_.request("POST", std::string("/v1/bulk/claims/").append(action));
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = wire::encode(bulk);
  const Result<CallResult> called =
      server_.call(*request, bulk.dry_run ? Repeat::safe : Repeat::never, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_bulk_outcome(called->response, counted);
}

Result<claims::BulkOutcome> RemoteClaims::forget_all(const claims::BulkRequest& request,
                                                     Duration within) {
  return in_bulk("forget", "forgotten", request, within);
}

Result<claims::BulkOutcome> RemoteClaims::retry_all(const claims::BulkRequest& request,
                                                    Duration within) {
  return in_bulk("retry", "retried", request, within);
}

Result<claims::BulkOutcome> RemoteClaims::release_all(const claims::BulkRequest& request,
                                                      Duration within) {
  return in_bulk("release", "released", request, within);
}

}  // namespace once::remote

#include "proxy/exchange.h"

#include <utility>

#include "api/digest.h"
#include "api/problem.h"
#include "proxy/headers.h"
#include "proxy/idempotency_key.h"

namespace once::proxy {
namespace {

constexpr int kRaces = 3;  // How often a request looks again that was overtaken.
constexpr int kTooManyRequests = 429;
constexpr int kUnavailable = 503;
constexpr int kBadGateway = 502;

api::Response in_flight() {
  return api::Problem(api::Code::busy, "a request with this Idempotency-Key is in flight")
      .retry_after(std::chrono::seconds(1))
      .finish();
}

api::Response other_body() {
  return api::problem(api::Code::mismatch, "this Idempotency-Key was used with another body");
}

api::Response unknown(const std::string& name, std::string_view detail) {
  return api::Problem(api::Code::unknown, detail).status(kBadGateway).text("claim", name).finish();
}

api::Response replay(const StoredAnswer& stored, const std::string& name) {
  if (!stored.without_body) return api::replayed(stored.response);
  return api::replayed(
      api::Problem(api::Code::too_large,
                   "the request was carried out, but its answer was too large to be stored")
          .status(kBadGateway)
          .integer("upstream_status", stored.response.status)
          .integer("upstream_bytes", static_cast<std::int64_t>(stored.body_bytes))
          .text("claim", name)
          .finish());
}

api::Response unreachable(const Error& error) {
  return api::Problem(api::Code::unavailable, error.message)
      .title("The upstream cannot be reached")
      .status(kBadGateway)
      .retry_after(std::chrono::seconds(1))
      .finish();
}

bool has_keys(std::string_view method) { return method == "POST" || method == "PATCH"; }

}  // namespace

Exchange::Exchange(Rules rules, Ledger ledger)
    : rules_(std::move(rules)),
      ledger_(std::move(ledger)),
      upstream_(rules_.upstream, client::Forwarding{rules_.max_answer}) {}

api::Response Exchange::answer(const api::Request& request) {
  if (request.body.size() > rules_.max_body) {
    return api::problem(api::Code::too_large,
                        "a body has at most " + std::to_string(rules_.max_body) + " bytes");
  }
  if (request.method == "CONNECT") return api::problem(api::Code::unsupported, "no tunnels");
  if (!has_keys(request.method)) return pass(request);
  const Result<std::optional<std::string>> key = key_of(request.headers);
  if (!key) return api::problem(key.error());
  if (*key) return guarded(request, claim_name(request, **key));
  if (!rules_.require_key) return pass(request);
  return api::problem(api::Code::invalid, "POST and PATCH need an Idempotency-Key here");
}

Result<std::optional<api::Response>> Exchange::answer_known(const std::string& name,
                                                            const std::string& digest) {
  const Result<Standing> standing = ledger_.look(name, digest);
  if (!standing) return std::unexpected(standing.error());
  if (const auto* stored = std::get_if<StoredAnswer>(&*standing)) return replay(*stored, name);
  if (std::holds_alternative<InFlight>(*standing)) return in_flight();
  if (std::holds_alternative<OtherBody>(*standing)) return other_body();
  if (std::holds_alternative<Lost>(*standing)) {
    return unknown(name,
                   "what became of the request with this key is unknown; it is not sent again "
                   "until its claim is forgotten");
  }
  return std::nullopt;
}

api::Response Exchange::guarded(const api::Request& request, const std::string& name) {
  const std::string digest = api::digest_of(request.body);
  for (int races = 0; races < kRaces; ++races) {
    Result<std::optional<api::Response>> known = answer_known(name, digest);
    if (!known) return without_store(request, known.error());
    if (*known) return std::move(**known);
    // Connected before it is claimed: what cannot be reached leaves nothing behind.
    if (const Result<void> ready = upstream_.prepare(rules_.upstream_timeout); !ready) {
      return unreachable(ready.error());
    }
    const auto began = std::chrono::steady_clock::now();
    const Result<Taking> taken = ledger_.take(name, digest);
    if (!taken) return without_store(request, taken.error());
    if (std::holds_alternative<Unguarded>(*taken)) return pass(request);
    const Ticket* ticket = std::get_if<Ticket>(&*taken);
    if (ticket == nullptr) continue;
    if (std::chrono::steady_clock::now() - began < kTakeWithin) {
      return send_claimed(request, name, *ticket);
    }
    (void)ledger_.free(name, *ticket);
    return api::problem(api::Code::unavailable, "the store was too slow; nothing was sent");
  }
  return in_flight();
}

bool Exchange::frees(int status) const {
  return status == kTooManyRequests || status == kUnavailable ||
         (rules_.retry_5xx && status >= 500);
}

// Stored before it is told: whoever has seen an answer sees the same one again. Where that fails,
// the answer is told all the same, and the key is refused from then on.
api::Response Exchange::send_claimed(const api::Request& request, const std::string& name,
                                     const Ticket& ticket) {
  Result<api::Response> answer = forward(request);
  if (answer) {
    (void)(frees(answer->status) ? ledger_.free(name, ticket)
                                 : ledger_.complete(name, ticket, *answer));
    return std::move(*answer);
  }
  if (answer.error().code != ErrorCode::unknown) {
    (void)ledger_.free(name, ticket);
    return unreachable(answer.error());
  }
  (void)ledger_.lose(name, ticket);
  return unknown(name, "the request was sent, and its answer was lost: " + answer.error().message);
}

Result<api::Response> Exchange::forward(const api::Request& request) {
  const api::Request forwarded{request.method, request.target, towards_upstream(request.headers),
                               request.body};
  Result<api::Response> answer = upstream_.call(forwarded, rules_.upstream_timeout);
  if (answer) answer->headers = towards_client(answer->headers, request.method);
  return answer;
}

api::Response Exchange::pass(const api::Request& request) {
  Result<api::Response> answer = forward(request);
  if (answer) return std::move(*answer);
  if (answer.error().code != ErrorCode::unknown) return unreachable(answer.error());
  return api::Problem(api::Code::unknown,
                      "sent, and the answer was lost: " + answer.error().message)
      .status(kBadGateway)
      .finish();
}

api::Response Exchange::without_store(const api::Request& request, const Error& error) {
  const bool down = error.code == ErrorCode::unavailable || error.code == ErrorCode::unknown;
  if (down && rules_.if_store_down == IfStoreDown::proceed) return pass(request);
  if (error.code == ErrorCode::corrupt) return api::problem(error);
  return api::problem(api::Code::unavailable, "nothing was sent: " + error.message);
}

}  // namespace once::proxy

#include "proxy/exchange.h"

#include <utility>

#include "api/digest.h"
#include "api/problem.h"
#include "proxy/headers.h"
#include "proxy/idempotency_key.h"
#include "proxy/watched.h"

namespace once::proxy {
namespace {

using api::Outcome;
using std::chrono::steady_clock;

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

// For those who count. Whatever the upstream's own headers say of a replay, it is no answer of
// ours.
api::Response noted(api::Response response, Outcome outcome) {
  response.notes.outcome = outcome;
  return response;
}

api::Response replayed_answer(const StoredAnswer& stored, const std::string& name) {
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

api::Response replay(const StoredAnswer& stored, const std::string& name) {
  api::Response response = noted(replayed_answer(stored, name), Outcome::replayed);
  response.notes.duplicates = 1;
  return response;
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

Exchange::Exchange(Rules rules, Ledger ledger, Probe& probe)
    : rules_(std::move(rules)),
      ledger_(std::move(ledger)),
      probe_(probe),
      upstream_(rules_.upstream, client::Forwarding{rules_.max_answer}) {}

api::Response Exchange::answer(const api::Request& request) {
  const auto parent = request.headers.find("traceparent");
  trace_ = parent ? server::parse_traceparent(*parent) : std::nullopt;
  if (trace_ && !(trace_->sampled && probe_.journal().takes(server::Level::info))) trace_.reset();
  if (request.body.size() > rules_.max_body) {
    return api::problem(api::Code::too_large,
                        "a body has at most " + std::to_string(rules_.max_body) + " bytes");
  }
  if (request.method == "CONNECT") return api::problem(api::Code::unsupported, "no tunnels");
  if (!has_keys(request.method)) return pass(request);
  const Result<std::optional<std::string>> key = key_of(request.headers);
  if (!key) return api::problem(key.error());
  if (*key) {
    api::Response response = guarded(request, claim_name(request, **key));
    response.notes.checked = 1;
    return response;
  }
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
    Step check(probe_, Step::Kind::check, trace_);
    Result<std::optional<api::Response>> known = answer_known(name, digest);
    if (!known || *known) {
      check.finish(known ? name_of(*(*known)->notes.outcome) : name_of(known.error().code));
      return known ? std::move(**known) : without_store(request, known.error());
    }
    // Connected before it is claimed: what cannot be reached leaves nothing behind.
    const auto connecting = steady_clock::now();
    const Result<void> ready = upstream_.prepare(rules_.upstream_timeout);
    check.leave_out(steady_clock::now() - connecting);
    if (!ready) {
      check.finish("unclaimed");
      return unreachable(ready.error());
    }
    const auto began = steady_clock::now();
    const Result<Taking> taken = take(name, digest, check);
    if (!taken) return without_store(request, taken.error());
    if (std::holds_alternative<Unguarded>(*taken)) return noted(pass(request), Outcome::unguarded);
    const Ticket* ticket = std::get_if<Ticket>(&*taken);
    if (ticket == nullptr) continue;
    if (steady_clock::now() - began < kTakeWithin) return send_claimed(request, name, *ticket);
    (void)ledger_.free(name, *ticket);
    return api::problem(api::Code::unavailable, "the store was too slow; nothing was sent");
  }
  return in_flight();
}

Result<Taking> Exchange::take(const std::string& name, const std::string& digest, Step& check) {
  Result<Taking> taken = ledger_.take(name, digest);
  if (!taken) {
    check.finish(name_of(taken.error().code));
  } else if (std::holds_alternative<Ticket>(*taken)) {
    check.finish("claimed");
  } else {
    check.finish(std::holds_alternative<Unguarded>(*taken) ? "unguarded" : "overtaken");
  }
  return taken;
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
    const bool freed = frees(answer->status);
    (void)(freed ? ledger_.free(name, ticket) : ledger_.complete(name, ticket, *answer));
    answer->notes.removed = freed ? 1 : 0;
    answer->notes.marked = freed ? 0 : 1;
    return noted(std::move(*answer), Outcome::executed);
  }
  if (answer.error().code != ErrorCode::unknown) {
    (void)ledger_.free(name, ticket);
    return unreachable(answer.error());
  }
  (void)ledger_.lose(name, ticket);
  return unknown(name, "the request was sent, and its answer was lost: " + answer.error().message);
}

Result<api::Response> Exchange::forward(const api::Request& request) {
  Step step(probe_, Step::Kind::upstream, trace_);
  api::Headers headers = towards_upstream(request.headers);
  if (const auto trace = step.trace()) headers = with_trace(headers, *trace);
  const api::Request forwarded{request.method, request.target, std::move(headers), request.body};
  Result<api::Response> answer = upstream_.call(forwarded, rules_.upstream_timeout);
  step.finish(answer ? std::to_string(answer->status) : name_of(answer.error().code));
  if (answer) answer->headers = towards_client(answer->headers, request.method);
  return answer;
}

api::Response Exchange::pass(const api::Request& request) {
  Result<api::Response> answer = forward(request);
  if (answer) return noted(std::move(*answer), Outcome::passed);
  if (answer.error().code != ErrorCode::unknown) return unreachable(answer.error());
  return api::Problem(api::Code::unknown,
                      "sent, and the answer was lost: " + answer.error().message)
      .status(kBadGateway)
      .finish();
}

api::Response Exchange::without_store(const api::Request& request, const Error& error) {
  const bool down = error.code == ErrorCode::unavailable || error.code == ErrorCode::unknown;
  if (down && rules_.if_store_down == IfStoreDown::proceed) {
    return noted(pass(request), Outcome::unguarded);
  }
  if (error.code == ErrorCode::corrupt) return api::problem(error);
  return api::problem(api::Code::unavailable, "nothing was sent: " + error.message);
}

}  // namespace once::proxy

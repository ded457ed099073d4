#include "proxy/exchange.h"

#include <utility>

#include "base/digest.h"
#include "proxy/headers.h"
#include "proxy/idempotency_key.h"
#include "proxy/observed_handler.h"
#include "wire/problem.h"

namespace once::proxy {
namespace {

using api::Outcome;
using std::chrono::steady_clock;

constexpr int kRaces = 3;  // How often a request looks again that was overtaken.
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kTooManyRequests = 429;
constexpr int kUnavailable = 503;
constexpr int kBadGateway = 502;
constexpr int kConflict = 409;
constexpr std::size_t kHeldUnkeyed = 64U
                                     << 10;  // Longer answers without a key are sent as they come.

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

// The outcome is for metrics: an upstream's own headers say nothing about our replays.
api::Response noted(api::Response response, Outcome outcome) {
  response.telemetry.outcome = outcome;
  return response;
}

// Not a gateway error if the body is missing: clients repeat requests that got one.
api::Response replayed_answer(const StoredAnswer& stored, const std::string& name) {
  if (!stored.without_body) return api::replayed(stored.response);
  return api::replayed(
      api::Problem(api::Code::too_large,
                   "the request was carried out, but its answer was too large to be stored")
          .status(kConflict)
          .integer("upstream_status", stored.response.status)
          .integer("upstream_bytes", static_cast<std::int64_t>(stored.body_bytes))
          .text("claim", name)
          .finish());
}

api::Response replay(const StoredAnswer& stored, const std::string& name) {
  api::Response response = noted(replayed_answer(stored, name), Outcome::replayed);
  response.headers = without_cookies(response.headers);  // Stored by a version that kept them.
  response.telemetry.duplicates = 1;
  return response;
}

api::Response unreachable(const Error& error) {
  return api::Problem(api::Code::unavailable, error.message)
      .title("The upstream cannot be reached")
      .status(kBadGateway)
      .retry_after(std::chrono::seconds(1))
      .finish();
}

api::Response too_large(std::size_t most) {
  return api::problem(api::Code::too_large, "the body of a request with a key has at most " +
                                                std::to_string(most) + " bytes");
}

// However the request ends, its answer ends too.
class BreakingOff {
 public:
  explicit BreakingOff(const std::shared_ptr<server::BodyStream>& rest) : rest_(rest) {}
  ~BreakingOff() {
    if (rest_) rest_->abort();
  }
  BreakingOff(const BreakingOff&) = delete;
  BreakingOff& operator=(const BreakingOff&) = delete;

 private:
  const std::shared_ptr<server::BodyStream>& rest_;
};

// What an upstream may be sent: anything else, it could take for the address of another server.
bool has_path(const api::Request& request) {
  return request.target.starts_with('/') || (request.method == "OPTIONS" && request.target == "*");
}

bool has_keys(std::string_view method) { return method == "POST" || method == "PATCH"; }

}  // namespace

Exchange::Exchange(Rules rules, KeyRecords records, ProxyTelemetry& telemetry)
    : rules_(std::move(rules)),
      records_(std::move(records)),
      telemetry_(telemetry),
      upstream_(rules_.upstream, client::Forwarding{rules_.max_answer, rules_.stopped,
                                                    rules_.reuse_within, rules_.tls}) {}

Exchange::Answer Exchange::answer(const api::Request& request, const Begin& begin) {
  begin_ = &begin;
  const auto parent = request.headers.find("traceparent");
  trace_ = parent ? server::parse_traceparent(*parent) : std::nullopt;
  if (trace_ && !(trace_->sampled && telemetry_.journal().takes(server::Level::info)))
    trace_.reset();
  if (request.method == "CONNECT") return api::problem(api::Code::unsupported, "no tunnels");
  if (!has_path(request)) return api::problem(api::Code::invalid, "a target is a path");
  if (!has_keys(request.method)) return pass(request, Outcome::passed);
  const Result<std::optional<std::string>> key = key_of(request.headers);
  if (!key) return api::problem(key.error());
  if (*key) {
    if (request.body.size() > rules_.max_body) return too_large(rules_.max_body);
    Answer answer = guarded(request, claim_name(request, **key, rules_.identity_headers));
    if (answer) answer->telemetry.checked = 1;
    return answer;
  }
  if (!rules_.require_key) return pass(request, Outcome::passed);
  return api::problem(api::Code::invalid, "POST and PATCH need an Idempotency-Key here");
}

Result<std::optional<api::Response>> Exchange::answer_known(const std::string& name,
                                                            const std::string& digest) {
  const Result<KeyState> standing = records_.look(name, digest);
  if (!standing) return std::unexpected(standing.error());
  if (const auto* stored = std::get_if<StoredAnswer>(&*standing)) return replay(*stored, name);
  if (std::holds_alternative<InFlight>(*standing)) return in_flight();
  if (std::holds_alternative<OtherBody>(*standing)) return other_body();
  if (std::holds_alternative<OutcomeUnknown>(*standing)) {
    return unknown(name,
                   "what became of the request with this key is unknown; it is not sent again "
                   "until its claim is forgotten");
  }
  return std::nullopt;
}

Exchange::Answer Exchange::guarded(const api::Request& request, const std::string& name) {
  const std::string digest = sha256_hex(request.body);
  for (int races = 0; races < kRaces; ++races) {
    Step check(telemetry_, Step::Kind::check, trace_);
    Result<std::optional<api::Response>> known = answer_known(name, digest);
    if (!known || *known) {
      check.finish(known ? name_of(*(*known)->telemetry.outcome) : name_of(known.error().code));
      return known ? std::move(*known) : without_store(request, known.error());
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
    if (std::holds_alternative<Unguarded>(*taken)) return pass(request, Outcome::unguarded);
    const Ticket* ticket = std::get_if<Ticket>(&*taken);
    if (ticket == nullptr) continue;
    if (steady_clock::now() - began < kTakeWithin) return send_claimed(request, name, *ticket);
    (void)records_.free(name, *ticket);
    return api::problem(api::Code::unavailable, "the store was too slow; nothing was sent");
  }
  return in_flight();
}

Result<Taking> Exchange::take(const std::string& name, const std::string& digest, Step& check) {
  Result<Taking> taken = records_.take(name, digest);
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
  return status == kUnauthorized || status == kForbidden || status == kTooManyRequests ||
         status == kUnavailable || (rules_.retry_5xx && status >= 500);
}

api::Response Exchange::marked(api::Response answer, Outcome outcome) const {
  if (outcome == Outcome::executed) {
    answer.telemetry.removed = frees(answer.status) ? 1 : 0;
    answer.telemetry.marked = 1 - answer.telemetry.removed;
  }
  return noted(std::move(answer), outcome);
}

// The answer is stored before its end is sent, so a client that saw it sees the same one again. If
// storing fails, the answer is sent all the same, and the key is refused from then on.
void Exchange::settle(const std::string& name, const Ticket& ticket, const Forwarded& sent) {
  if (!sent.answer) {
    const bool lost = sent.answer.error().code == ErrorCode::unknown;
    (void)(lost ? records_.mark_unknown(name, ticket) : records_.free(name, ticket));
  } else if (frees(sent.answer->status)) {
    (void)records_.free(name, ticket);
  } else if (sent.rest) {
    (void)records_.complete_without_body(name, ticket, sent.answer->status, sent.body_bytes);
  } else {
    api::Response kept = *sent.answer;
    kept.headers = without_cookies(kept.headers);
    (void)records_.complete(name, ticket, kept);
  }
}

Exchange::Answer Exchange::send_claimed(const api::Request& request, const std::string& name,
                                        const Ticket& ticket) {
  Forwarded sent = forward(request, TimeoutKind::whole, Outcome::executed);
  const BreakingOff breaking_off(sent.rest);
  settle(name, ticket, sent);
  if (sent.rest) {
    if (sent.answer &&
        put(request, *sent.rest, sent.end, steady_clock::now() + rules_.upstream_timeout / 2)) {
      sent.rest->end();
    }
    return std::nullopt;
  }
  if (sent.answer) return marked(std::move(*sent.answer), Outcome::executed);
  if (sent.answer.error().code != ErrorCode::unknown) return unreachable(sent.answer.error());
  return unknown(name,
                 "the request was sent, and its answer was lost: " + sent.answer.error().message);
}

bool Exchange::put(const api::Request& request, server::BodyStream& rest, std::string_view piece,
                   server::BodyStream::Instant until) {
  if (slow_readers_ == nullptr || !rest.is_full()) return rest.put(piece, until);
  if (!slow_readers_->begin(request)) {
    rest.abort();
    return false;
  }
  const bool taken = rest.put(piece, until);
  slow_readers_->end(request);
  return taken;
}

Exchange::Forwarded Exchange::forward(const api::Request& request, TimeoutKind timeout_kind,
                                      Outcome outcome) {
  Forwarded sent{failure(ErrorCode::unavailable, "not sent"), nullptr};
  Step step(telemetry_, Step::Kind::upstream, trace_);
  api::Headers headers = towards_upstream(request.headers);
  if (const auto trace = step.trace()) headers = with_trace(headers, *trace);
  const api::Request forwarded{request.method, request.target, std::move(headers), request.body};
  // With a key, a slow client must not cost the answer: it is read to its end.
  const bool keyed = timeout_kind == TimeoutKind::whole;
  const auto half_time = steady_clock::now() + rules_.upstream_timeout / 2;
  const auto begin = [&](api::Response head) {
    head.headers = with_length(head.headers);
    sent.rest = std::make_shared<server::BodyStream>();
    (*begin_)(marked(std::move(head), outcome), sent.rest);
  };
  const auto piece = [&](std::string_view bytes) {
    sent.body_bytes += bytes.size();
    if (!keyed) {
      return put(request, *sent.rest, bytes, steady_clock::now() + rules_.upstream_timeout);
    }
    if (!sent.end.empty()) (void)put(request, *sent.rest, sent.end, half_time);
    sent.end = bytes;
    return true;
  };
  sent.answer =
      upstream_.call_streaming(forwarded, {.timeout_kind = timeout_kind,
                                           .timeout = rules_.upstream_timeout,
                                           .hold = keyed ? rules_.max_answer : kHeldUnkeyed,
                                           .begin = begin,
                                           .piece = piece});
  step.finish(sent.answer ? std::to_string(sent.answer->status)
                          : name_of(sent.answer.error().code));
  if (sent.answer) sent.answer->headers = towards_client(sent.answer->headers, request.method);
  return sent;
}

Exchange::Answer Exchange::pass(const api::Request& request, Outcome outcome) {
  Forwarded sent = forward(request, TimeoutKind::steps, outcome);
  const BreakingOff breaking_off(sent.rest);
  if (sent.rest) {
    if (sent.answer) sent.rest->end();
    return std::nullopt;
  }
  if (sent.answer) return noted(std::move(*sent.answer), outcome);
  if (sent.answer.error().code != ErrorCode::unknown) return unreachable(sent.answer.error());
  return api::Problem(api::Code::unknown,
                      "sent, and the answer was lost: " + sent.answer.error().message)
      .status(kBadGateway)
      .finish();
}

Exchange::Answer Exchange::without_store(const api::Request& request, const Error& error) {
  const bool down = is_transient(error);
  if (down && rules_.if_store_down == IfStoreDown::proceed) {
    return pass(request, Outcome::unguarded);
  }
  if (error.code == ErrorCode::corrupt) return api::problem(error);
  return api::problem(api::Code::unavailable, "nothing was sent: " + error.message);
}

}  // namespace once::proxy

#include "proxy/key_records.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/encoding.h"
#include "once/entropy.h"
#include "wire/json.h"
#include "wire/text.h"

namespace once::proxy {
namespace {

constexpr int kTries = 3;
constexpr PauseBounds kPauses{
    .shortest = Duration(100), .first = Duration(200), .longest = Duration(400)};
constexpr std::string_view kOwner = "once proxy ";
constexpr std::string_view kBody = ", body ";

// Shorter than kHold and longer than any patience: what tells the leases of the two kinds of
// AfterUnknown apart.
constexpr Duration kLongPatience = std::chrono::days(14);

std::string in_ms(Duration duration) { return std::to_string(duration.count()) + "ms"; }

std::string text_in(const api::Json& object, std::string_view name) {
  std::string_view text;
  return object.at_key(name).get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

std::string text_in(const api::Response& response, std::string_view name) {
  const Result<api::Json> body = api::parse_json(response.body);
  return body ? text_in(*body, name) : "";
}

std::string body_with(const Ticket& ticket, std::string_view name, std::string_view json) {
  return api::JsonObject().text("ticket", ticket.text).raw(name, json).finish();
}

// An answer of the API that is no outcome of a claim.
std::unexpected<Error> refused(const api::Response& response) {
  const std::string code = text_in(response, "code");
  std::string message = "the store answered " + std::to_string(response.status) + ": ";
  message += text_in(response, "detail");
  if (code == "corrupt") return failure(ErrorCode::corrupt, std::move(message));
  if (code == "unknown") return failure(ErrorCode::unknown, std::move(message));
  return failure(ErrorCode::unavailable, std::move(message));
}

bool is_retried(const Result<api::Response>& answer) {
  if (answer) return answer->status >= 500 && answer->status != 501;
  return is_transient(answer);
}

// A claim that is gone is not ours to settle, which is no failure.
Result<void> settled(const Result<api::Response>& answer) {
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 200 || answer->status == 412) return {};
  return refused(*answer);
}

Result<KeyState> stored(const api::Json& record) {
  const std::optional<Bytes> bytes = base64url_decode(text_in(record, "result"));
  if (!bytes) return failure(ErrorCode::corrupt, "a claim's result is no stored answer");
  Result<StoredAnswer> answer = decode_answer(*bytes);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move(*answer);
}

}  // namespace

api::Request KeyRecords::request_for(const std::string& method, const std::string& name,
                                     std::string_view action, std::string body) const {
  std::string target = "/v1/claims/";
  target.append(percent_encode(name)).append(action);
  api::Request request{method, std::move(target), {}, std::move(body)};
  if (!options_.name_space.empty()) request.headers.add("Once-Namespace", options_.name_space);
  return request;
}

Result<api::Response> KeyRecords::write(const api::Request& request) {
  Backoff backoff(kPauses, clock_, system_entropy());
  for (int tries = 1;; ++tries) {
    Result<api::Response> answer = call_(request);
    if (!is_retried(answer) || tries == kTries) return answer;
    (void)backoff.pause();
  }
}

std::string KeyRecords::owner_for(const std::string& digest) const {
  std::string owner(kOwner);
  return owner.append(options_.instance).append(kBody).append(digest);
}

// By this machine's clock: it decides only what a refusal says, and whether to try and take.
KeyState KeyRecords::state_while_busy(std::string_view owner, Time lease_until) const {
  const Time now = clock_.now();
  const bool ours = owner.starts_with(std::string(kOwner) + options_.instance);
  if (lease_until > now + kLongPatience) {
    const bool has_holder = ours || options_.shared_store == SharedStore::yes;
    return has_holder && lease_until - kHold > now ? KeyState(InFlight{})
                                                   : KeyState(OutcomeUnknown{});
  }
  if (lease_until > now) return InFlight{};
  return options_.after_unknown == AfterUnknown::retry ? KeyState(Fresh{})
                                                       : KeyState(OutcomeUnknown{});
}

Result<KeyState> KeyRecords::look(const std::string& name, const std::string& digest) {
  const Result<api::Response> answer = call_(request_for("GET", name, "", ""));
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 404) return Fresh{};
  if (answer->status != 200) return refused(*answer);
  const Result<api::Json> record = api::parse_json(answer->body);
  if (!record) return failure(ErrorCode::corrupt, "the store's answer is not JSON");
  const std::string state = text_in(*record, "state");
  const std::string owner = text_in(*record, "owner");
  KeyState standing = OutcomeUnknown{};
  if (state == "busy") {
    standing = state_while_busy(
        owner, api::parse_time(text_in(*record, "lease_until")).value_or(clock_.now()));
  }
  if (std::holds_alternative<Fresh>(standing)) return standing;
  if (!owner.ends_with(std::string(kBody) + digest)) return OtherBody{};
  return state == "done" ? stored(*record) : standing;
}

Result<Taking> KeyRecords::take(const std::string& name, const std::string& digest) {
  const bool refuses = options_.after_unknown == AfterUnknown::refuse;
  const Duration lease = refuses ? kHold + options_.patience : options_.patience;
  std::string body = api::JsonObject()
                         .text("owner", owner_for(digest))
                         .text("request", std::to_string(system_entropy().random()))
                         .text("payload", digest)
                         .text("lease", in_ms(lease))
                         .text("ttl", in_ms(options_.ttl))
                         .finish();
  const Result<api::Response> answer = write(request_for("POST", name, "", std::move(body)));
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 201) {
    Ticket ticket{text_in(*answer, "ticket")};
    if (text_in(*answer, "state") == "unguarded") return Unguarded{};
    return ticket;
  }
  const bool overtaken =
      answer->status == 200 || answer->status == 422 || text_in(*answer, "code") == "busy";
  if (overtaken) return Overtaken{};
  return refused(*answer);
}

Result<api::Response> KeyRecords::store(const std::string& name, const Ticket& ticket,
                                        const Bytes& record) {
  const std::string json = api::json_text(base64url_encode(record));
  return write(request_for("POST", name, "/complete", body_with(ticket, "result", json)));
}

Result<void> KeyRecords::complete(const std::string& name, const Ticket& ticket,
                                  const api::Response& answer) {
  Result<api::Response> done = store(name, ticket, encode(answer));
  if (done ? done->status == 413 : done.error().code == ErrorCode::too_large) {
    done = store(name, ticket, encode_without_body(answer));
  }
  return settled(done);
}

Result<void> KeyRecords::complete_without_body(const std::string& name, const Ticket& ticket,
                                               int status, std::uint64_t body_bytes) {
  return settled(store(name, ticket, encode_without_body(status, body_bytes)));
}

Result<void> KeyRecords::free(const std::string& name, const Ticket& ticket) {
  return settled(write(request_for("POST", name, "/release", body_with(ticket, "final", "false"))));
}

Result<void> KeyRecords::mark_unknown(const std::string& name, const Ticket& ticket) {
  if (options_.after_unknown == AfterUnknown::retry) return free(name, ticket);
  // As if its time were over already.
  const std::string lease = api::json_text(in_ms(kHold - std::chrono::seconds(1)));
  return settled(write(request_for("POST", name, "/renew", body_with(ticket, "lease", lease))));
}

}  // namespace once::proxy

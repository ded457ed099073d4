#include "proxy/key_records.h"

#include <optional>
#include <utility>

#include "base/backoff.h"
#include "base/encoding.h"
#include "wire/json.h"

namespace once::proxy {
namespace {

constexpr Duration kForGood = std::chrono::years(10);
constexpr int kTries = 3;
constexpr PauseBounds kPauses{
    .shortest = Duration(100), .first = Duration(200), .longest = Duration(400)};
constexpr std::string_view kOwner = "once proxy ";
constexpr std::string_view kBody = ", body ";

// Shorter than kHold and longer than any patience: what tells the leases of the two kinds of
// AfterUnknown apart.
constexpr Duration kLongPatience = std::chrono::days(14);

// A claim's result is JSON: the record as a string of base64url.
Bytes result_of(const Bytes& record) { return wire::json_text(base64url_encode(record)); }

Result<KeyState> stored_in(const Bytes& result) {
  const Result<wire::Json> json = wire::parse_json(result);
  std::string_view text;
  const bool is_text = json && json->get(text) == simdjson::SUCCESS;
  const std::optional<Bytes> record = is_text ? base64url_decode(text) : std::nullopt;
  if (!record) return failure(ErrorCode::corrupt, "a claim's result is no stored answer");
  Result<StoredAnswer> answer = decode_answer(*record);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move(*answer);
}

// What else may be wrong is not the request's fault: the proxy does what it does if the store is
// down.
std::unexpected<Error> refused(const Error& error) {
  const bool tells = is_transient(error) || error.code == ErrorCode::corrupt;
  return failure(tells ? error.code : ErrorCode::unavailable, error.message);
}

// A claim that is gone is not ours to settle, which is no failure.
template <class Outcome>
Result<void> settled(const Result<Outcome>& outcome) {
  if (!outcome) return refused(outcome.error());
  return {};
}

}  // namespace

template <class Write>
auto KeyRecords::repeat(Write write) {
  Backoff backoff(kPauses, clock_, entropy_);
  for (int tries = 1;; ++tries) {
    auto answer = write();
    if (!is_transient(answer) || tries == kTries) return answer;
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
  const Result<std::optional<ClaimState>> shown = claims_.show(name, kStoreCall);
  if (!shown) return refused(shown.error());
  if (!*shown || (*shown)->kind == ClaimState::Kind::free) return Fresh{};
  const ClaimState& claim = **shown;
  KeyState state = OutcomeUnknown{};
  using Kind = ClaimState::Kind;
  if (claim.kind == Kind::busy || claim.kind == Kind::abandoned) {
    state = state_while_busy(claim.owner, claim.lease_until);
  }
  if (std::holds_alternative<Fresh>(state)) return state;
  if (!claim.owner.ends_with(std::string(kBody) + digest)) return OtherBody{};
  return claim.kind == Kind::done ? stored_in(claim.result) : state;
}

Result<Taking> KeyRecords::take(const std::string& name, const std::string& digest) {
  const bool refuses = options_.after_unknown == AfterUnknown::refuse;
  const ClaimRequest request{
      .owner = owner_for(digest),
      .request = std::to_string(entropy_.random()),
      .payload = digest,
      .lease = refuses ? kHold + options_.patience : options_.patience,
      .ttl = options_.ttl,
      // An outcome that is unknown is refused until it is forgotten.
      .keep_abandoned = refuses ? kForGood : kKeepAbandoned,
  };
  const Result<ClaimOutcome> taken =
      repeat([&] { return claims_.take(name, request, Duration::zero(), kStoreCall); });
  if (!taken) return refused(taken.error());
  if (const auto* claimed = std::get_if<Claimed>(&*taken)) return claimed->ticket;
  if (std::holds_alternative<Unguarded>(*taken)) return Unguarded{};
  return Overtaken{};
}

Result<SettleOutcome> KeyRecords::store(const std::string& name, const Ticket& ticket,
                                        const Bytes& record) {
  const Bytes result = result_of(record);
  return repeat([&] { return claims_.complete(name, ticket, result, kStoreCall); });
}

Result<void> KeyRecords::complete(const std::string& name, const Ticket& ticket,
                                  const api::Response& answer) {
  const Result<SettleOutcome> done = store(name, ticket, encode(answer));
  if (!done && done.error().code == ErrorCode::too_large) {
    return settled(store(name, ticket, encode_without_body(answer)));
  }
  return settled(done);
}

Result<void> KeyRecords::complete_without_body(const std::string& name, const Ticket& ticket,
                                               int status, std::uint64_t body_bytes) {
  return settled(store(name, ticket, encode_without_body(status, body_bytes)));
}

Result<void> KeyRecords::free(const std::string& name, const Ticket& ticket) {
  return settled(
      repeat([&] { return claims_.release(name, ticket, "", Release::retryable, kStoreCall); }));
}

Result<void> KeyRecords::mark_unknown(const std::string& name, const Ticket& ticket) {
  if (options_.after_unknown == AfterUnknown::retry) return free(name, ticket);
  // As if its time were over already.
  constexpr Duration kLease = kHold - std::chrono::seconds(1);
  return settled(repeat([&] { return claims_.renew(name, ticket, kLease, kStoreCall); }));
}

}  // namespace once::proxy

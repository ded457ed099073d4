#include <utility>

#include "once/claims.h"
#include "primitives/keys.h"

namespace once {
namespace claims {
namespace {

template <class T>
bool is_down(const Result<T>& answer) {
  return !answer && (answer.error().code == ErrorCode::unavailable ||
                     answer.error().code == ErrorCode::unknown);
}

}  // namespace

Result<ClaimOutcome> or_proceed(Result<ClaimOutcome> answer, IfStoreDown policy) {
  if (policy == IfStoreDown::proceed && is_down(answer)) return Unguarded{};
  return answer;
}

Result<Seen> or_proceed(Result<Seen> answer, std::size_t ids, IfStoreDown policy) {
  if (policy == IfStoreDown::proceed && is_down(answer)) {
    return Seen{std::vector<bool>(ids, true), false};
  }
  return answer;
}

}  // namespace claims

Claims::Claims(Store& store, std::string name_space, Clock& clock, Entropy& entropy)
    : name_space_(std::move(name_space)), driver_(store, clock, entropy) {}

Result<Key> Claims::key_of(std::string_view name) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return keys::claim(name_space_, name);
}

Result<ClaimOutcome> Claims::take(std::string_view name, const ClaimRequest& request,
                                  Duration wait) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return claims::or_proceed(
      driver_.run(claims::take_within(std::move(*key), request, wait), kAttemptLife + wait),
      if_store_down_);
}

Result<RenewOutcome> Claims::renew(std::string_view name, const Ticket& ticket, Duration lease) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::renew(std::move(*key), ticket, lease));
}

Result<SettleOutcome> Claims::complete(std::string_view name, const Ticket& ticket, Bytes result) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::complete(std::move(*key), ticket, std::move(result)));
}

Result<SettleOutcome> Claims::release(std::string_view name, const Ticket& ticket, Bytes failure,
                                      Release how) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::release(std::move(*key), ticket, std::move(failure), how));
}

Result<bool> Claims::forget(std::string_view name) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::forget(std::move(*key)));
}

Result<std::optional<ClaimState>> Claims::show(std::string_view name) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::show(std::move(*key)));
}

Result<claims::ClaimPage> Claims::list(std::optional<ClaimState::Kind> kind, std::string cursor,
                                       std::size_t limit) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(claims::list(name_space_, kind, std::move(cursor), limit));
}

Result<std::vector<bool>> Claims::seen(std::span<const std::string> ids, Duration ttl,
                                       std::string request) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const std::string& id : ids) {
    if (Result<void> ok = keys::check_name(id); !ok) return std::unexpected(std::move(ok.error()));
    keys.push_back(keys::claim(name_space_, id));
  }
  Result<claims::Seen> seen =
      claims::or_proceed(driver_.run(claims::seen(std::move(keys), ttl, std::move(request))),
                         ids.size(), if_store_down_);
  if (!seen) return std::unexpected(std::move(seen.error()));
  return std::move(seen->first);
}

}  // namespace once

#include <utility>

#include "once/local.h"
#include "primitives/keys.h"

namespace once {

LocalClaims::LocalClaims(Store& store, std::string name_space, Clock& clock, Entropy& entropy)
    : LocalClaims(LocalDriver(store, clock, entropy), std::move(name_space)) {}

LocalClaims::LocalClaims(LocalDriver driver, std::string name_space)
    : name_space_(std::move(name_space)), driver_(driver) {}

Result<void> LocalClaims::check_name(std::string_view name) const {
  Result<void> ok = keys::check_namespace(name_space_);
  return ok ? keys::check_name(name) : ok;
}

Result<Key> LocalClaims::key_of(std::string_view name) const {
  if (Result<void> ok = check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return keys::claim(name_space_, name);
}

Result<ClaimOutcome> LocalClaims::take(std::string_view name, const ClaimRequest& request,
                                       Duration wait, Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  Plan<ClaimOutcome> plan = wait > Duration::zero()
                                ? claims::take_within(std::move(*key), request, wait)
                                : claims::take(std::move(*key), request);
  return claims::or_proceed(driver_.run(std::move(plan), within + wait), if_store_down_);
}

Result<RenewOutcome> LocalClaims::renew(std::string_view name, const Ticket& ticket, Duration lease,
                                        Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::renew(std::move(*key), ticket, lease), within);
}

Result<SettleOutcome> LocalClaims::complete(std::string_view name, const Ticket& ticket,
                                            Bytes result, Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::complete(std::move(*key), ticket, std::move(result)), within);
}

Result<SettleOutcome> LocalClaims::release(std::string_view name, const Ticket& ticket,
                                           Bytes failure, Release how, Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::release(std::move(*key), ticket, std::move(failure), how), within);
}

Result<bool> LocalClaims::forget(std::string_view name, Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::forget(std::move(*key)), within);
}

Result<std::optional<ClaimState>> LocalClaims::show(std::string_view name, Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(claims::show(std::move(*key)), within);
}

Result<claims::ClaimPage> LocalClaims::list(const claims::ClaimFilter& filter, std::string cursor,
                                            std::size_t limit, Duration within) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(claims::list(name_space_, filter, std::move(cursor), limit), within);
}

Result<claims::BulkOutcome> LocalClaims::forget_all(const claims::BulkRequest& request,
                                                    Duration within) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(claims::forget_all(name_space_, request), within);
}

Result<claims::BulkOutcome> LocalClaims::retry_all(const claims::BulkRequest& request,
                                                   Duration within) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(claims::retry_all(name_space_, request), within);
}

Result<claims::BulkOutcome> LocalClaims::release_all(const claims::BulkRequest& request,
                                                     Duration within) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(claims::release_all(name_space_, request), within);
}

Result<claims::Seen> LocalClaims::mark(std::span<const std::string> ids, Duration ttl,
                                       std::string request, Duration within) {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  std::vector<Key> keys;
  keys.reserve(ids.size());
  for (const std::string& id : ids) {
    if (Result<void> ok = keys::check_name(id); !ok) return std::unexpected(std::move(ok.error()));
    keys.push_back(keys::seen(name_space_, id));
  }
  return claims::or_proceed(
      driver_.run(claims::seen(std::move(keys), ttl, std::move(request)), within), ids.size(),
      if_store_down_);
}

Result<std::optional<claims::SeenMark>> LocalClaims::show_seen(std::string_view id,
                                                               Duration within) {
  if (Result<void> ok = check_name(id); !ok) return std::unexpected(std::move(ok.error()));
  return driver_.run(claims::show_seen(keys::seen(name_space_, id)), within);
}

Result<bool> LocalClaims::forget_seen(std::string_view id, Duration within) {
  if (Result<void> ok = check_name(id); !ok) return std::unexpected(std::move(ok.error()));
  return driver_.run(claims::forget_seen(keys::seen(name_space_, id)), within);
}

}  // namespace once

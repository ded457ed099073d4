#include <utility>

#include "once/local.h"
#include "primitives/keys.h"

namespace once {

LocalTallies::LocalTallies(Store& store, std::string name_space, Clock& clock, Entropy& entropy)
    : LocalTallies(LocalDriver(store, clock, entropy), std::move(name_space)) {}

LocalTallies::LocalTallies(LocalDriver driver, std::string name_space)
    : name_space_(std::move(name_space)), driver_(driver) {}

Result<Key> LocalTallies::key_of(std::string_view name) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return keys::tally(name_space_, name);
}

Result<TallyOutcome> LocalTallies::merge(std::string_view name, const TallyRequest& request,
                                         Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(tallies::merge(std::move(*key), request, &known_), within);
}

Result<std::optional<TallyReading>> LocalTallies::read(std::string_view name,
                                                       const TallyRange& range,
                                                       std::shared_ptr<const Monoid> own,
                                                       Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(tallies::read(std::move(*key), range, std::move(own)), within);
}

Result<std::vector<std::optional<TallyReading>>> LocalTallies::read_all(
    std::span<const std::string> names, const TallyRange& range, std::shared_ptr<const Monoid> own,
    Duration within) {
  std::vector<Key> keys;
  keys.reserve(names.size());
  for (const std::string& name : names) {
    Result<Key> key = key_of(name);
    if (!key) return std::unexpected(std::move(key.error()));
    keys.push_back(std::move(*key));
  }
  return driver_.run(tallies::read_all(std::move(keys), range, std::move(own)), within);
}

Result<std::vector<std::optional<TallyReading>>> LocalTallies::read_each(
    std::span<const TallyRead> reads, std::shared_ptr<const Monoid> own, Duration within) {
  std::vector<tallies::KeyedRange> wanted;
  wanted.reserve(reads.size());
  for (const TallyRead& read : reads) {
    Result<Key> key = key_of(read.name);
    if (!key) return std::unexpected(std::move(key.error()));
    wanted.push_back({std::move(*key), read.range});
  }
  return driver_.run(tallies::read_each(std::move(wanted), std::move(own)), within);
}

Result<std::optional<TallySeries>> LocalTallies::series(std::string_view name,
                                                        const TallyRange& range,
                                                        std::shared_ptr<const Monoid> own,
                                                        Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(tallies::series(std::move(*key), range, std::move(own)), within);
}

Result<bool> LocalTallies::remove(std::string_view name, Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(tallies::remove(std::move(*key), &known_), within);
}

Result<TallyPage> LocalTallies::list(const Listing& listing, Duration within) {
  if (Result<void> ok = keys::check_prefix(listing.prefix); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(tallies::list(name_space_, listing), within);
}

Result<BulkRemoved> LocalTallies::remove_all(const Listing& listing, BulkRun run, Duration within) {
  if (Result<void> ok = keys::check_prefix(listing.prefix); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(tallies::remove_all(name_space_, listing, run, &known_), within);
}

}  // namespace once

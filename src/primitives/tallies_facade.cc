#include <utility>

#include "once/tallies.h"
#include "primitives/keys.h"

namespace once {

Tallies::Tallies(Store& store, std::string name_space, Clock& clock, Entropy& entropy)
    : name_space_(std::move(name_space)), driver_(store, clock, entropy) {}

Result<Key> Tallies::key_of(std::string_view name) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return keys::tally(name_space_, name);
}

Result<TallyOutcome> Tallies::merge(std::string_view name, const TallyRequest& request) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(tallies::merge(std::move(*key), request, &known_));
}

Result<std::optional<TallyReading>> Tallies::read(std::string_view name, const TallyRange& range,
                                                  std::shared_ptr<const Monoid> own) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(tallies::read(std::move(*key), range, std::move(own)));
}

Result<std::vector<std::optional<TallyReading>>> Tallies::read_all(
    std::span<const std::string> names, const TallyRange& range,
    std::shared_ptr<const Monoid> own) {
  std::vector<Key> keys;
  keys.reserve(names.size());
  for (const std::string& name : names) {
    Result<Key> key = key_of(name);
    if (!key) return std::unexpected(std::move(key.error()));
    keys.push_back(std::move(*key));
  }
  return driver_.run(tallies::read_all(std::move(keys), range, std::move(own)));
}

}  // namespace once

#include "stores/s3/hints.h"

#include <functional>
#include <utility>

namespace once::s3 {

std::size_t Hints::place_of(const Key& key) {
  constexpr std::size_t kOdd = 0x9e3779b97f4a7c15;
  std::size_t hash = std::hash<std::string>{}(key.partition.home);
  hash = hash * kOdd + std::hash<std::string>{}(key.partition.part);
  hash = hash * kOdd + std::hash<std::int64_t>{}(key.sort);
  return hash % kPlaces;
}

void Hints::keep(const Key& key, Hint hint) {
  const Lock lock(mutex_);
  places_[place_of(key)] = {key, std::move(hint)};
}

void Hints::forget(const Key& key) {
  const Lock lock(mutex_);
  Place& place = places_[place_of(key)];
  if (place.key == key) place = {};
}

std::optional<Hints::Hint> Hints::find(const Key& key, Version version) const {
  const Lock lock(mutex_);
  const Place& place = places_[place_of(key)];
  if (place.key != key || place.hint.version != version) return std::nullopt;
  return place.hint;
}

}  // namespace once::s3

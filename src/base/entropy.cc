#include "once/entropy.h"

#include <random>

namespace once {
namespace {

// splitmix64: a bijection that spreads consecutive inputs over all 64 bits.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t seed_from_system() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) ^ device();
}

}  // namespace

Entropy::Entropy(std::uint64_t seed) : Entropy(seed, Source::seed) {}

Entropy::Entropy(std::uint64_t seed, Source source)
    : seed_(mixed(seed)), source_(source), next_version_(mixed(~seed)) {}

// random() can be undone: two numbers tell all later ones.
std::array<std::uint64_t, 2> Entropy::unguessable() {
  if (source_ == Source::seed) return {random(), random()};
  return {seed_from_system(), seed_from_system()};
}

std::uint64_t Entropy::random() {
  return mixed(seed_ + drawn_.fetch_add(1, std::memory_order_relaxed));
}

Duration Entropy::random_below(Duration bound) {
  if (bound.count() <= 0) return Duration::zero();
  return Duration(
      static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(bound.count()) + 1)));
}

Version Entropy::version() { return versions(1); }

Version Entropy::versions(std::uint64_t count) {
  const std::uint64_t first = next_version_.fetch_add(count, std::memory_order_relaxed);
  // Zero names nothing.
  const bool has_zero = first == 0 || first + (count - 1) < first;
  return has_zero ? versions(count) : Version{first};
}

Entropy& system_entropy() {
  static Entropy entropy(seed_from_system(), Entropy::Source::system);
  return entropy;
}

}  // namespace once

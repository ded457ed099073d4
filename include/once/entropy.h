// The source of versions, jitter and ids. Injected, so that a simulation can be repeated.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "once/item.h"

namespace once {

// Safe to share between threads.
class Entropy {
 public:
  explicit Entropy(std::uint64_t seed);

  // Well-mixed 64 bits.
  std::uint64_t random();

  // Evenly spread in [0, bound]; 0 when bound is not positive.
  Duration random_below(Duration bound);

  // 128 bits for a secret. The system's cannot be guessed from anything else that it gave; those of
  // a seed follow from the seed.
  std::array<std::uint64_t, 2> unguessable();

  // Never the same twice. Counts up from a random start: two processes collide only if their starts
  // in 2^64 lie closer together than the number of versions they make.
  Version version();

  // The first of `count` consecutive ones.
  Version versions(std::uint64_t count);

 private:
  enum class Source : std::uint8_t { seed, system };
  friend Entropy& system_entropy();
  Entropy(std::uint64_t seed, Source source);

  const std::uint64_t seed_;
  const Source source_;
  std::atomic<std::uint64_t> drawn_ = 0;
  std::atomic<std::uint64_t> next_version_;
};

// Seeded by the operating system once per process.
Entropy& system_entropy();

}  // namespace once

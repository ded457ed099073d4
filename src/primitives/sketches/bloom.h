// Whether an item was added, without keeping it. Never "no" for an item that was added. For one
// that was not, "yes" at most at the declared rate, on average over items, as long as no more than
// `capacity` were added (Bloom 1970; k probes from two hashes, Kirsch and Mitzenmacher 2006, in the
// enhanced form of Dillinger and Manolios 2004).
//
// With n items of capacity c and rate p the filter has m = ceil(c ln(1/p) / ln(2)^2) bits, rounded
// up to whole words, and k = round(m/c ln 2) probes: a false positive has probability
// (1 - e^(-kn/m))^k.
//
// Merging is a bitwise or: associative, commutative, idempotent.
//
//   record 'B', format 1
//   ┌──────────┬──────────────┬─────────────────────────────────┐
//   │ capacity │ rate         │ bits                            │
//   │ number   │ bits, number │ bytes, bit i is 1 << i%8 of i/8 │
//   └──────────┴──────────────┴─────────────────────────────────┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/item.h"

namespace once::sketches {

struct BloomShape {
  std::uint64_t capacity = 10'000;
  double rate = 0.01;

  friend bool operator==(const BloomShape&, const BloomShape&) = default;
};

inline constexpr std::size_t kMaxBloomBytes = 16U << 20;

class Bloom {
 public:
  static constexpr bool kIdempotent = true;  // Merging again changes nothing.

  // `invalid` unless capacity is at least 1, the rate from 1e-9 to 0.5, and the filter no larger
  // than kMaxBloomBytes.
  static Result<Bloom> make(BloomShape shape);

  const BloomShape& shape() const { return shape_; }

  void add(std::string_view item);
  bool may_contain(std::string_view item) const;

  // `invalid`, and nothing changed, if the other has a different shape.
  Result<void> merge(const Bloom& other);

  Bytes encode() const;
  static Result<Bloom> decode(std::string_view record);

  friend bool operator==(const Bloom&, const Bloom&) = default;

 private:
  Bloom(BloomShape shape, std::size_t bytes, unsigned probes)
      : shape_(shape), probes_(probes), bits_(bytes) {}

  BloomShape shape_;
  unsigned probes_;
  std::vector<std::uint8_t> bits_;
};

}  // namespace once::sketches

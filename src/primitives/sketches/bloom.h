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
// While few bits of a large filter are set it holds their places alone, so that it costs what is in
// it and not what it was declared for.
//
//   record 'B'
//   ┌──────────┬──────────────┬──────────────────────────────────────────────────────┐
//   │ capacity │ rate         │ format 1, dense: bytes, bit i is 1 << i%8 of i/8     │
//   │ number   │ bits, number │ format 2, sparse: count, then the difference of each │
//   │          │              │ place to the last, ascending                         │
//   └──────────┴──────────────┴──────────────────────────────────────────────────────┘
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

  // How large the filter of a shape is once it is dense; `invalid` as make().
  static Result<std::size_t> bytes_of(const BloomShape& shape);

  const BloomShape& shape() const { return shape_; }

  void add(std::string_view item);
  bool may_contain(std::string_view item) const;

  // `invalid`, and nothing changed, if the other has a different shape.
  Result<void> merge(const Bloom& other);

  // Merges the record `from` into the record `into`, in its bytes. False, and nothing changed, if
  // that has the sparse form.
  static Result<bool> merge_in_place(Bytes& into, std::string_view from);

  Bytes encode() const;
  Bytes encode_dense() const;  // In format 1, also while it is sparse.
  static Result<Bloom> decode(std::string_view record);

  friend bool operator==(const Bloom&, const Bloom&) = default;

 private:
  Bloom(BloomShape shape, std::size_t bytes, unsigned probes)
      : shape_(shape), probes_(probes), bytes_(bytes), bits_(bytes <= kSmallBytes ? bytes : 0) {}

  static constexpr std::size_t kSmallBytes = 1'024;  // Such a filter is dense from the start.

  bool is_dense() const { return !bits_.empty(); }
  std::size_t most_places() const;
  bool has(std::size_t bit) const;
  void set(std::size_t bit);
  void grow_dense();
  Bytes encode_bits(const std::vector<std::uint8_t>& bits) const;

  BloomShape shape_;
  unsigned probes_;
  std::size_t bytes_;                  // Of the dense form.
  std::vector<std::uint32_t> places_;  // While sparse: the bits that are set, ascending.
  std::vector<std::uint8_t> bits_;     // Empty while sparse.
};

}  // namespace once::sketches

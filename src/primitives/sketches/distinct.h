// How many different items were added, without keeping them: HyperLogLog (Flajolet, Fusy, Gandouet,
// Meunier 2007) over 64-bit hashes, with the sparse form of HyperLogLog++ (Heule, Nunkesser, Hall
// 2013) while few were added, and Ertl's estimator (arXiv:1702.01284, algorithm 6), which needs no
// table of corrections.
//
// Error: a relative standard error of 1.04 / sqrt(2^precision), 0.81 % at precision 14, whatever
// the count. While sparse (up to 3/16 * 2^precision items, 3,072 at 14) it counts in 2^26 cells, so
// it is almost always exact.
//
// Merging is a union: associative, commutative, idempotent, and the bytes do not depend on the
// order.
//
//   record 'H', format 1
//   ┌───────────┬──────┬────────────────────────────────────────────────────────────┐
//   │ precision │ form │ 0, sparse: count, then each cell's difference to the last  │
//   │ number    │ 0, 1 │ 1, dense: bytes, 2^precision registers of 6 bits, low first │
//   └───────────┴──────┴────────────────────────────────────────────────────────────┘
//   A sparse cell is 26 bits of the hash and the rank of what follows (6 bits), ascending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/item.h"

namespace once::sketches {

inline constexpr unsigned kMinPrecision = 8;
inline constexpr unsigned kMaxPrecision = 18;

class Distinct {
 public:
  static constexpr bool kIdempotent = true;  // Merging again changes nothing.

  // `precision` is kMinPrecision to kMaxPrecision.
  explicit Distinct(unsigned precision = 14) : precision_(precision) {}

  unsigned precision() const { return precision_; }

  void add(std::string_view item);

  // `invalid`, and nothing changed, if the other has a different precision.
  Result<void> merge(const Distinct& other);

  double estimate() const;

  Bytes encode() const;
  static Result<Distinct> decode(std::string_view record);

  friend bool operator==(const Distinct&, const Distinct&) = default;

 private:
  bool dense() const { return !registers_.empty(); }
  std::size_t most_cells() const { return (std::size_t{3} << precision_) / 16; }
  void add_cell(std::uint32_t cell);
  void note(std::uint32_t cell);
  void grow_dense();
  double estimate_dense() const;

  unsigned precision_;
  std::vector<std::uint32_t> cells_;     // While sparse: ascending, one for each index.
  std::vector<std::uint8_t> registers_;  // Empty while sparse.
};

}  // namespace once::sketches

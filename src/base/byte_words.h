// Looks at eight bytes of a text at once.
#pragma once

#include <cstdint>
#include <cstring>

namespace once {

inline constexpr std::size_t kWordBytes = 8;
inline constexpr std::uint64_t kEachByte = 0x0101010101010101U;
inline constexpr std::uint64_t kHighBits = 0x8080808080808080U;

// The eight bytes from `at` on, in any order.
inline std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Whether one of the bytes is less than `bound`, which is at most 0x80.
inline bool any_less(std::uint64_t word, std::uint8_t bound) {
  return ((word - kEachByte * bound) & ~word & kHighBits) != 0;
}

inline bool any_equal(std::uint64_t word, char c) {
  return any_less(word ^ (kEachByte * static_cast<std::uint8_t>(c)), 1);
}

inline bool any_beyond_ascii(std::uint64_t word) { return (word & kHighBits) != 0; }

}  // namespace once

// Numbers as states: 8 bytes, little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "once/item.h"

namespace once::tallies {

inline constexpr std::size_t kWordBytes = 8;

inline Bytes word(std::uint64_t bits) {
  Bytes out;
  for (unsigned shift = 0; shift < 64; shift += 8) out += static_cast<char>(bits >> shift);
  return out;
}

inline std::uint64_t word_in(std::string_view state) {
  std::uint64_t bits = 0;
  for (std::size_t i = kWordBytes; i-- > 0;) bits = bits << 8 | static_cast<std::uint8_t>(state[i]);
  return bits;
}

inline std::int64_t integer_in(std::string_view state) {
  return static_cast<std::int64_t>(word_in(state));
}
inline Bytes integer(std::int64_t value) { return word(static_cast<std::uint64_t>(value)); }

}  // namespace once::tallies

// Items like those of claims: keys of 31 bytes in random order, values of 100 to 150.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "once/write.h"

namespace once::bench {

// splitmix64: a bijection, so no two claims share a key.
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline Key claim_key(std::uint64_t number) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string home = "claims/tenant-1/";
  for (std::uint64_t i = 0, bits = mixed(number); i < 15; ++i, bits >>= 4) home += kHex[bits & 15];
  return {{std::move(home), ""}, 0};
}

inline Write claim(std::uint64_t number) {
  std::string value(100 + number % 51, static_cast<char>('a' + number % 26));
  // Different values, or compression would make them smaller than real ones.
  for (std::size_t i = 0; i < 64; i += 8) {
    const std::uint64_t noise = mixed(number * 8 + i);
    for (std::size_t byte = 0; byte < 8; ++byte)
      value[i + byte] = static_cast<char>(noise >> byte * 8);
  }
  Write write = put(claim_key(number), std::move(value), absent());
  write.version = {number + 1};
  return write;
}

inline std::vector<Write> claims(std::uint64_t first, std::size_t count) {
  std::vector<Write> writes;
  writes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) writes.push_back(claim(first + i));
  return writes;
}

inline std::size_t payload_of(const Write& write) {
  return write.key.partition.home.size() + std::get<Bytes>(write.value).size();
}

}  // namespace once::bench

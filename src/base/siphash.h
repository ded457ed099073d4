// A short message authentication code: who does not know the key can neither make nor change one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace once {

// 128 bits each.
using SipKey = std::array<std::uint64_t, 2>;
using SipCode = std::array<std::uint64_t, 2>;

// SipHash-2-4 with 128 bits (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012):
// about a tenth of a microsecond for a ticket, where HMAC takes more than ten times as long.
class SipHash {
 public:
  explicit SipHash(const SipKey& key);

  void add(std::string_view bytes);
  void add(std::uint64_t number);  // As eight bytes, the least first.

  // The code of all that was added, one after the other. Ends it.
  SipCode finish();

 private:
  void round();
  void take(std::uint64_t word);
  void add_word(std::uint64_t number);
  std::uint64_t squeeze();

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
  std::uint64_t held_ = 0;  // The bytes that are no whole word yet, the first lowest.
  std::uint64_t length_ = 0;
};

}  // namespace once

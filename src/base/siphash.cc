#include "base/siphash.h"

#include <bit>
#include <cstddef>
#include <cstring>

namespace once {
namespace {

constexpr std::size_t kWord = 8;

// Little endian; eight bytes at most.
std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  if (std::endian::native == std::endian::little && bytes.size() == kWord) {
    std::memcpy(&word, bytes.data(), kWord);
    return word;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
  }
  return word;
}

}  // namespace

SipHash::SipHash(const SipKey& key)
    : v0_(key[0] ^ 0x736f6d6570736575U),
      v1_(key[1] ^ 0x646f72616e646f6dU ^ 0xeeU),
      v2_(key[0] ^ 0x6c7967656e657261U),
      v3_(key[1] ^ 0x7465646279746573U) {}

inline void SipHash::round() {
  v0_ += v1_;
  v1_ = std::rotl(v1_, 13) ^ v0_;
  v0_ = std::rotl(v0_, 32);
  v2_ += v3_;
  v3_ = std::rotl(v3_, 16) ^ v2_;
  v0_ += v3_;
  v3_ = std::rotl(v3_, 21) ^ v0_;
  v2_ += v1_;
  v1_ = std::rotl(v1_, 17) ^ v2_;
  v2_ = std::rotl(v2_, 32);
}

inline void SipHash::take(std::uint64_t word) {
  v3_ ^= word;
  round();
  round();
  v0_ ^= word;
}

void SipHash::add(std::uint64_t number) { add_word(number); }

inline void SipHash::add_word(std::uint64_t number) {
  const std::size_t held = length_ % kWord;
  length_ += kWord;
  if (held == 0) return take(number);
  take(held_ | number << (8 * held));
  held_ = number >> (8 * (kWord - held));
}

void SipHash::add(std::string_view bytes) {
  SipHash state = *this;  // Which the compiler keeps in registers.
  for (; bytes.size() >= kWord; bytes.remove_prefix(kWord)) {
    state.add_word(word_of(bytes.substr(0, kWord)));
  }
  *this = state;
  if (bytes.empty()) return;
  const std::size_t held = length_ % kWord;
  const std::uint64_t rest = word_of(bytes);
  length_ += bytes.size();
  held_ |= rest << (8 * held);
  if (held + bytes.size() < kWord) return;
  take(held_);
  held_ = held == 0 ? 0 : rest >> (8 * (kWord - held));
}

std::uint64_t SipHash::squeeze() {
  for (int i = 0; i < 4; ++i) round();
  return v0_ ^ v1_ ^ v2_ ^ v3_;
}

SipCode SipHash::finish() {
  take(held_ | length_ << 56);
  v2_ ^= 0xeeU;
  const std::uint64_t first = squeeze();
  v1_ ^= 0xddU;
  return {first, squeeze()};
}

}  // namespace once

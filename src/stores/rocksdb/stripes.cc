#include "stores/rocksdb/stripes.h"

#include <xxhash.h>

#include <bit>

namespace once {

template <class F>
void Stripes::Held::for_each(F f) {
  for (std::size_t word = 0; word < held_.size(); ++word) {
    for (std::uint64_t bits = held_[word]; bits != 0; bits &= bits - 1) {
      f(stripes_.stripes_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))]);
    }
  }
}

// The analysis cannot follow locks chosen by data.
Stripes::Held::Held(Stripes& stripes, std::span<const std::string_view> keys) : stripes_(stripes) {
  for (const std::string_view key : keys) {
    const std::size_t stripe = XXH3_64bits(key.data(), key.size()) % kCount;
    held_[stripe / 64] |= std::uint64_t{1} << (stripe % 64);
  }
  for_each([](Mutex& stripe) ONCE_UNCHECKED_LOCKING { stripe.lock(); });
}

Stripes::Held::~Held() {
  for_each([](Mutex& stripe) ONCE_UNCHECKED_LOCKING { stripe.unlock(); });
}

}  // namespace once

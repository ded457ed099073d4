// Locks for keys; many keys share one. A group takes its locks in ascending order, each once, so
// groups cannot deadlock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/mutex.h"

namespace once {

class Stripes {
 public:
  class Held;

 private:
  static constexpr std::size_t kCount = 1024;
  std::array<Mutex, kCount> stripes_;
};

// Holds the stripes of all these encoded keys while it lives.
class Stripes::Held {
 public:
  Held(Stripes& stripes, std::span<const std::string_view> keys);
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  template <class F>
  void for_each(F f);

  Stripes& stripes_;
  std::array<std::uint64_t, kCount / 64> held_{};  // A bit a stripe.
};

}  // namespace once

// What a write does to the current item: the one definition, for every store that evaluates guards
// itself and for the model they are checked against.
#pragma once

#include <cstdint>
#include <optional>

#include "once/error.h"
#include "once/write.h"

namespace once {

// What a write needs to know of an item that exists and has not expired.
struct CurrentItem {
  Version version;
  std::optional<std::int64_t> number;  // Empty when the value is bytes.
  bool permanent = false;              // It has no expiry.
};

// `current` is null if the key is absent.
bool holds(const Guard& guard, const CurrentItem* current);

struct Effect {
  enum class Kind : std::uint8_t { none, put, erase };
  Kind kind = Kind::none;
  // For add and raise: the integer afterwards, which a put then stores. Otherwise a put stores the
  // write's own value. Version and expiry are always the write's.
  std::optional<std::int64_t> number;
};

// Assumes that the guard holds. Fails as `invalid` on overflow and on arithmetic with bytes.
Result<Effect> effect_of(const Write& write, const CurrentItem* current);

}  // namespace once

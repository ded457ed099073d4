// What a write does to what stands there: the one place that says so, for every store that
// evaluates guards itself and for the model they are checked against.
#pragma once

#include <cstdint>
#include <optional>

#include "once/error.h"
#include "once/write.h"

namespace once {

// An item that is there and has not expired, as far as a write needs to know it.
struct Standing {
  Version version;
  std::optional<std::int64_t> number;  // Empty when the value is bytes.
};

// `standing` is null where the key is absent.
bool holds(const Guard& guard, const Standing* standing);

struct Effect {
  enum class Kind : std::uint8_t { none, put, erase };
  Kind kind = Kind::none;
  // For add and raise the integer that stands afterwards, which a put is to store; otherwise a put
  // stores the write's own value. Version and expiry are always the write's.
  std::optional<std::int64_t> number;
};

// The guard is taken to hold. Fails as `invalid` on overflow and on arithmetic with bytes.
Result<Effect> effect_of(const Write& write, const Standing* standing);

}  // namespace once

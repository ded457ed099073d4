// An error as tests compare it: looking into a Result that holds none is no way to fail.
#pragma once

#include <optional>

#include "once/error.h"

namespace once::testing {

// Nothing if it went well.
template <class T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

}  // namespace once::testing

#include "once/error.h"

namespace once {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return "invalid";
    case ErrorCode::too_large: return "too_large";
    case ErrorCode::denied: return "denied";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::unknown: return "unknown";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::corrupt: return "corrupt";
  }
  return "corrupt";
}

}  // namespace once

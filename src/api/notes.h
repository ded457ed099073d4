// What came of a request, for those who count and log it. It goes with the answer, and is not sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "once/time.h"

namespace once::api {

enum class Outcome : std::uint8_t {
  executed,
  read,
  passed,      // Through a proxy, without a key.
  taken_over,  // Claimed again, after a lease that ended or a failure.
  replayed,
  unguarded,
  busy,
  mismatch,
  fenced,
  precondition_failed,
  precondition_required,
  not_found,
  invalid,
  too_large,
  contended,
  unauthorized,
  forbidden,
  unsupported,
  overloaded,
  unavailable,
  unknown,
  corrupt,
};
inline constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::corrupt) + 1;

std::string_view name_of(Outcome outcome);

struct Notes {
  std::optional<Outcome> outcome;  // Nothing: executed, read or replayed, as the answer shows.
  std::optional<Time> original;    // When that happened of which this is a duplicate.
  std::string event_type;          // Of a CloudEvent.
  bool waited = false;             // As long as the caller allowed, for another holder.

  // Of claims: keys that were asked for, recorded as done, freed, and found done.
  std::uint32_t checked = 0;
  std::uint32_t marked = 0;
  std::uint32_t removed = 0;
  std::uint32_t duplicates = 0;

  std::uint32_t conflicts = 0;  // How often another was faster at the document.
};

}  // namespace once::api

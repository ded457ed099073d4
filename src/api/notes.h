// What came of a request, for those who count and log it. It goes with the answer, and is not sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  handler_failed,  // Of an event: whoever it was forwarded to did not take it.
  unavailable,
  unknown,
  corrupt,
};
inline constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::corrupt) + 1;

std::string_view name_of(Outcome outcome);

struct Notes {
  std::optional<Outcome> outcome;  // Nothing: executed, read or replayed, as the answer shows.
  std::optional<Time> original;    // When that happened of which this is a duplicate.
  std::string event_type;          // Of a CloudEvent,
  std::string event_id;            // and its id.
  bool waited = false;             // As long as the caller allowed, for another holder.

  // Of claims: keys that were asked for, recorded as done, freed, and found done.
  std::uint32_t checked = 0;
  std::uint32_t marked = 0;
  std::uint32_t removed = 0;
  std::uint32_t duplicates = 0;

  std::optional<Outcome> passed_over;  // The failure of the store that was no obstacle.

  // How long it took to find out whose turn it is, if that is not all there was to do.
  std::optional<std::chrono::nanoseconds> check_length;

  std::uint32_t conflicts = 0;  // How often another was faster at the document.

  std::vector<Notes> parts;  // Of a batch: one for each event, and nothing above.
};

}  // namespace once::api

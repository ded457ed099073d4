// Calendar periods, in UTC: what `--per day` adds to a key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/time.h"

namespace once::cli {

struct Period {
  std::string name;  // `2026-11-15T09`, `2026-11-15`, `2026-W46` (ISO 8601), or `2026-11`.
  Time end;
};

// The hour, day, week or month; nothing for any other word.
std::optional<Period> period_of(std::string_view per, Time now);

}  // namespace once::cli

// Calendar periods, in UTC: what `--per day` adds to a key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/time.h"

namespace once::cli {

// `2026-11-15T09` for hour, `2026-11-15` for day, `2026-W46` (ISO 8601) for week; nothing for any
// other word.
std::optional<std::string> period_of(std::string_view per, Time now);

}  // namespace once::cli

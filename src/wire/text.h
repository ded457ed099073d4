// Durations, times and numbers as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/time.h"

namespace once::wire {

// `250ms`, `30s`, `5m`, `24h`, `7d`: a whole number and a unit. Nothing for any other text, and for
// more than ten years.
std::optional<Duration> parse_duration(std::string_view text);

// A number of seconds, to the millisecond. Nothing for a negative one, and for more than ten years.
std::optional<Duration> duration_of_seconds(double seconds);

// A duration of a query or a header: as parse_duration(), or a number of seconds.
std::optional<Duration> parse_duration_or_seconds(std::string_view text);

// RFC 3339, to the millisecond and in UTC: 2026-11-15T09:30:00.000Z.
std::string format_time(Time time);

// RFC 3339 with any offset and any fraction (digits beyond the millisecond are cut). Nothing for
// any other text, and for a time before 1970 or after 9999.
std::optional<Time> parse_time(std::string_view text);

// ASCII letters in lower case.
std::string lowered(std::string_view text);

// A date and time of RFC 3339, of any year and with leap seconds.
bool is_timestamp(std::string_view text);

// Decimal digits, with or without a sign. Nothing for any other text.
std::optional<std::int64_t> parse_integer(std::string_view text);

// Sixteen hex digits.
std::string hex_text(std::uint64_t value);

bool is_utf8(std::string_view text);

}  // namespace once::wire

namespace once::api {
using namespace wire;
}

#include "cli/period.h"

#include <array>
#include <cstdio>

namespace once::cli {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

template <class... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), pattern, numbers...);
  return {text.data(), static_cast<std::size_t>(length)};
}

// The year of a week is that of its Thursday.
std::string week_of(sys_days day) {
  const sys_days thursday =
      day + days(4 - static_cast<int>(std::chrono::weekday(day).iso_encoding()));
  const std::chrono::year year = year_month_day(thursday).year();
  const auto first = sys_days(year / std::chrono::January / 1);
  return format("%04d-W%02d", int(year), int((thursday - first).count() / 7) + 1);
}

}  // namespace

std::optional<Period> period_of(std::string_view per, Time now) {
  const auto day = std::chrono::floor<days>(now);
  const year_month_day date(day);
  const std::string month = format("%04d-%02u", int(date.year()), unsigned(date.month()));
  const std::string written = month + format("-%02u", unsigned(date.day()));
  if (per == "day") return Period{written, day + days(1)};
  if (per == "week") {
    const auto weekday = static_cast<int>(std::chrono::weekday(day).iso_encoding());
    return Period{week_of(day), day + days(8 - weekday)};
  }
  if (per == "month") {
    const auto next = date.year() / date.month() / 1 + std::chrono::months(1);
    return Period{month, sys_days(next)};
  }
  if (per != "hour") return std::nullopt;
  const auto hour = std::chrono::floor<std::chrono::hours>(now - day);
  return Period{written + format("T%02d", int(hour.count())), day + hour + std::chrono::hours(1)};
}

}  // namespace once::cli

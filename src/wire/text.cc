#include "wire/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>

namespace once::wire {
namespace {

constexpr Duration kLongest = std::chrono::years(10);

// A year of four digits with an offset from UTC may reach it, but no answer can show it.
constexpr Time kYear10000 = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);

std::optional<Duration> unit_of(std::string_view name) {
  if (name == "ms") return Duration(1);
  if (name == "s") return std::chrono::seconds(1);
  if (name == "m") return std::chrono::minutes(1);
  if (name == "h") return std::chrono::hours(1);
  if (name == "d") return std::chrono::days(1);
  return std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes parts off the front of a text. After the first part that does not fit, no further part
// fits.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const char c = next();
      if (!is_digit(c)) sound_ = false;
      value = value * 10 + (c - '0');
    }
    return value;
  }
  void expect(std::string_view any_of) {
    if (any_of.find(next()) == std::string_view::npos) sound_ = false;
  }
  bool accept(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  // The fraction of a second after its point, in milliseconds.
  int fraction() {
    int value = 0;
    int scale = 100;
    if (left_.empty() || !is_digit(left_.front())) sound_ = false;
    for (; !left_.empty() && is_digit(left_.front()); left_.remove_prefix(1)) {
      value += (left_.front() - '0') * scale;
      scale /= 10;
    }
    return value;
  }
  bool sound() const { return sound_; }
  bool at_end() const { return sound_ && left_.empty(); }

 private:
  char next() {
    if (left_.empty()) {
      sound_ = false;
      return '\0';
    }
    const char c = left_.front();
    left_.remove_prefix(1);
    return c;
  }

  std::string_view left_;
  bool sound_ = true;
};

std::optional<std::chrono::sys_days> date_in(Scanner& in) {
  const int year = in.digits(4);
  in.expect("-");
  const int month = in.digits(2);
  in.expect("-");
  const int day = in.digits(2);
  if (!in.sound()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok() ? std::optional<std::chrono::sys_days>(date) : std::nullopt;
}

std::optional<Duration> time_of_day_in(Scanner& in, int last_second = 59) {
  const int hours = in.digits(2);
  in.expect(":");
  const int minutes = in.digits(2);
  in.expect(":");
  const int seconds = in.digits(2);
  const int millis = in.accept('.') ? in.fraction() : 0;
  if (!in.sound() || hours > 23 || minutes > 59 || seconds > last_second) return std::nullopt;
  return std::chrono::hours(hours) + std::chrono::minutes(minutes) + std::chrono::seconds(seconds) +
         Duration(millis);
}

std::optional<Duration> offset_in(Scanner& in) {
  if (in.accept('Z') || in.accept('z')) return Duration::zero();
  const bool west = in.accept('-');
  if (!west) in.expect("+");
  const int hours = in.digits(2);
  in.expect(":");
  const int minutes = in.digits(2);
  if (!in.sound() || hours > 23 || minutes > 59) return std::nullopt;
  const Duration offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return west ? -offset : offset;
}

// Every answer about a claim has a time in it, and printf is slow.
void append_digits(std::string& out, int value, std::size_t count) {
  std::array<char, 12> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), std::abs(value));
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  if (value < 0) out += '-';
  if (digits.size() < count) out.append(count - digits.size(), '0');
  out += digits;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const start = std::to_address(text.begin());
  const char* const end = start + text.size();
  const auto [stop, error] = std::from_chars(start, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string hex_text(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); value != 0; ++digit, value >>= 4) *digit = kDigits[value & 15];
  return text;
}

std::optional<Duration> parse_duration(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> count = parse_integer(text.substr(0, digits));
  const std::optional<Duration> unit = unit_of(text.substr(digits));
  if (!count || !unit || *count > kLongest / *unit) return std::nullopt;
  return *count * *unit;
}

std::optional<Duration> duration_of_seconds(double seconds) {
  if (!(seconds >= 0) || seconds > std::chrono::duration<double>(kLongest).count()) {
    return std::nullopt;
  }
  return Duration(std::llround(seconds * 1'000));
}

std::optional<Duration> parse_duration_or_seconds(std::string_view text) {
  double seconds = 0;
  const char* const begin = std::to_address(text.begin());
  const char* const end = begin + text.size();
  const auto [at, error] = std::from_chars(begin, end, seconds, std::chars_format::fixed);
  if (error == std::errc() && at == end) return duration_of_seconds(seconds);
  return parse_duration(text);
}

std::string format_time(Time time) {
  time = std::min(time, kYear10000 - Duration(1));
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string text;
  text.reserve(24);
  append_digits(text, int(date.year()), 4);
  append_digits(text += '-', static_cast<int>(unsigned(date.month())), 2);
  append_digits(text += '-', static_cast<int>(unsigned(date.day())), 2);
  append_digits(text += 'T', static_cast<int>(clock.hours().count()), 2);
  append_digits(text += ':', static_cast<int>(clock.minutes().count()), 2);
  append_digits(text += ':', static_cast<int>(clock.seconds().count()), 2);
  append_digits(text += '.', static_cast<int>(clock.subseconds().count()), 3);
  return text += 'Z';
}

std::optional<Time> parse_time(std::string_view text) {
  Scanner in(text);
  const auto date = date_in(in);
  in.expect("Tt ");
  const auto time_of_day = time_of_day_in(in);
  const auto offset = offset_in(in);
  if (!date || !time_of_day || !offset || !in.at_end()) return std::nullopt;
  const Time time = Time(*date) + *time_of_day - *offset;
  if (time < Time() || time >= kYear10000) return std::nullopt;
  return time;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

bool is_timestamp(std::string_view text) {
  Scanner in(text);
  const auto date = date_in(in);
  in.expect("Tt");
  const auto time_of_day = time_of_day_in(in, 60);
  const auto offset = offset_in(in);
  return date && time_of_day && offset && in.at_end();
}

}  // namespace once::wire

#include "view.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace page_stats {
namespace {

using namespace std::chrono;

constexpr std::size_t kMostViews = 1'000'000;
constexpr std::size_t kLongestLine = 8'192;
constexpr std::size_t kLongestName = 400;  // Bytes of an id or a page, which become names in Once.
constexpr std::int64_t kSlowest = 3'600'000;

std::optional<once::Time> parse_time(const std::string& text) {
  const auto day = parse_day(text.substr(0, text.find('T')));
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  unsigned ms = 0;
  int length = 0;
  const std::size_t from = std::min(text.size(), std::size_t{10});
  if (!day || std::sscanf(text.c_str() + from, "T%2u:%2u:%2u.%3uZ%n", &hour, &minute, &second, &ms,
                          &length) != 4) {
    return std::nullopt;
  }
  if (from + static_cast<std::size_t>(length) != text.size() || length != 14) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return *day + hours(hour) + minutes(minute) + seconds(second) + milliseconds(ms);
}

// An empty text means that all is well.
std::string read_view(const std::string& line, View& view) {
  if (line.size() > kLongestLine) return "the line is too long";
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return "it is no JSON object";
  for (const char* const field : {"id", "time", "page", "visitor"}) {
    if (!json.contains(field) || !json[field].is_string() ||
        json[field].get_ref<const std::string&>().empty()) {
      return std::string("it needs a text \"") + field + "\"";
    }
  }
  if (!json.contains("ms") || !json["ms"].is_number_integer()) return "it needs a number \"ms\"";
  const auto time = parse_time(json["time"]);
  if (!time) return "\"time\" is not like 2026-11-15T09:14:03.127Z";
  view = {json["id"], *time, json["page"], json["visitor"], json["ms"]};
  if (view.page.front() != '/') return "\"page\" does not begin with /";
  if (std::max(view.id.size(), view.page.size()) > kLongestName) return "a name is too long";
  if (view.ms < 0 || view.ms > kSlowest) return "\"ms\" is out of bounds";
  return "";
}

}  // namespace

std::string to_json(const View& view) {
  nlohmann::ordered_json json;
  json["id"] = view.id;
  json["time"] = to_text(view.time);
  json["page"] = view.page;
  json["visitor"] = view.visitor;
  json["ms"] = view.ms;
  return json.dump();
}

once::Result<std::vector<View>> read_views(std::istream& lines) {
  std::vector<View> views;
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    View view;
    std::string wrong = read_view(line, view);
    if (wrong.empty() && views.size() == kMostViews) wrong = "there are more than a million views";
    if (!wrong.empty()) {
      return once::failure(once::ErrorCode::invalid,
                           "line " + std::to_string(number) + ": " + wrong);
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::string to_text(sys_days day) {
  const year_month_day date(day);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text.data();
}

std::string to_text(once::Time time) {
  const auto day = floor<days>(time);
  const hh_mm_ss clock(time - day);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "T%02d:%02d:%02d.%03dZ",
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()),
                static_cast<int>(clock.subseconds().count()));
  return to_text(day) + text.data();
}

std::optional<sys_days> parse_day(const std::string& text) {
  int y = 0;
  unsigned m = 0;
  unsigned d = 0;
  int length = 0;
  if (text.size() != 10 || std::sscanf(text.c_str(), "%4d-%2u-%2u%n", &y, &m, &d, &length) != 3) {
    return std::nullopt;
  }
  const year_month_day date(year{y}, month{m}, day{d});
  if (length != 10 || y < 1970 || !date.ok()) return std::nullopt;
  return sys_days(date);
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3 && text[at - 4] != '-';) text.insert(at -= 3, ",");
  return text;
}

}  // namespace page_stats

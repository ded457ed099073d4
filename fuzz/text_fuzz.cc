// Durations, times and integers as people write them.
#include <charconv>

#include "fuzz/record_laws.h"
#include "wire/json.h"
#include "wire/text.h"

namespace once::fuzz {
namespace {

constexpr std::int64_t kTenYears = Duration(std::chrono::years(10)).count();

// A second reader of the documented form: digits, then a unit.
std::optional<Duration> read_duration(std::string_view text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  for (const auto& [unit, millis] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.size());
    __int128 total = 0;
    bool sound = !digits.empty();
    for (const char c : digits) {
      sound = sound && c >= '0' && c <= '9';
      if (sound && total <= kTenYears) total = total * 10 + (c - '0');
    }
    total *= millis;
    if (sound && total <= kTenYears) return Duration(static_cast<std::int64_t>(total));
  }
  return std::nullopt;
}

void check_duration(std::string_view text) {
  const std::optional<Duration> read = api::parse_duration(text);
  require(read == read_duration(text));
  if (read) require(api::parse_duration(std::to_string(read->count()) + "ms") == read);
}

// A time of an answer is accepted in a request.
void check_time(std::string_view text) {
  const std::optional<Time> time = api::parse_time(text);
  if (!time) return;
  const std::string shown = api::format_time(*time);
  require(shown.size() == std::string_view("2026-11-15T09:30:00.000Z").size());
  require(api::parse_time(shown) == time);
  require(*time >= Time());
}

void check_integer(std::string_view text) {
  const std::optional<std::int64_t> value = api::parse_integer(text);
  if (!value) return;
  require(api::parse_integer(std::to_string(*value)) == value);
}

// A field of the body accepts what the query accepts.
void check_field(std::string_view text) {
  const std::string body = api::JsonObject().text("lease", text).finish();
  const Result<api::Json> json = api::parse_json(body);
  if (!json) return;  // Not UTF-8.
  api::Fields fields(*json);
  const std::optional<Duration> lease = fields.duration("lease");
  require(lease == api::parse_duration(text));
  require(fields.finish().has_value() == lease.has_value());
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once::fuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_duration(text);
  check_time(text);
  check_integer(text);
  check_field(text);
  return 0;
}

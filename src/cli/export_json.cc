#include "cli/export_json.h"

#include <limits>

#include "api/stored_items.h"
#include "wire/json.h"

namespace once::cli {
namespace {

constexpr std::int64_t kFormat = 1;

std::uint32_t take_check(api::Fields& fields) {
  const std::int64_t check = fields.integer("check").value_or(-1);
  const bool sound = check >= 0 && check <= std::numeric_limits<std::uint32_t>::max();
  if (!sound) fields.complain("check", "is missing, or none");
  return sound ? static_cast<std::uint32_t>(check) : 0;
}

LastLine take_last(api::Fields& fields, std::int64_t items) {
  if (items < 0) fields.complain("items", "is negative");
  fields.require("time");
  const Time time = fields.time("time").value_or(Time());
  const bool as_found = fields.boolean("as_found").value_or(false);
  return {static_cast<std::uint64_t>(items), take_check(fields), time, as_found};
}

ItemLine item_line(api::Fields& fields) {
  const api::Listed listed = api::take_item(fields);
  if (const Result<void> ok = api::check_stored(listed); !ok) {
    fields.complain("home", "of " + to_text(listed.key) + ": " + ok.error().message);
  }
  return {listed.key.partition.home, take_check(fields), api::is_token(listed)};
}

}  // namespace

std::string first_line() {
  return api::JsonObject().text("export", "once").integer("format", kFormat).finish();
}

std::string last_line(const LastLine& line) {
  api::JsonObject object;
  object.integer("items", static_cast<std::int64_t>(line.items))
      .integer("check", line.check)
      .time("time", line.time);
  if (line.as_found) object.boolean("as_found", true);
  return object.finish();
}

Result<ExportLine> parse_export_line(std::string_view line) {
  const Result<api::Json> json = api::parse_json(line);
  if (!json) return std::unexpected(json.error());
  api::Fields fields(*json);
  ExportLine parsed;
  if (fields.text("export") == "once") {
    if (fields.integer("format") > kFormat) {
      return failure(ErrorCode::unsupported, "the export is of a newer format");
    }
    parsed = FirstLine{};
  } else if (const auto items = fields.integer("items")) {
    parsed = take_last(fields, *items);
  } else {
    parsed = item_line(fields);
  }
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return parsed;
}

}  // namespace once::cli

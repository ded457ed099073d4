#include "cli/item_lines.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>

#include "api/json.h"
#include "api/text.h"
#include "primitives/text_armor.h"

namespace once::cli {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::size_t kVersionDigits = 16;

void add_bytes(api::JsonObject& out, const std::string& name, const std::string& bytes) {
  api::is_utf8(bytes) ? out.text(name, bytes) : out.text(name + "64", armored(bytes));
}

std::string version_text(Version version) {
  std::array<char, kVersionDigits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(version.number));
  return text.data();
}

std::optional<Version> parse_version(const std::string& text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, version.number, 16);
  const bool sound = error == std::errc() && stop == end && text.size() == kVersionDigits;
  return sound && version ? std::optional(version) : std::nullopt;
}

std::string take_bytes(api::Fields& fields, const std::string& name) {
  if (std::optional<std::string> plain = fields.text(name)) return std::move(*plain);
  const std::optional<std::string> armor = fields.text(name + "64");
  std::optional<Bytes> bytes = armor ? unarmored(*armor) : std::nullopt;
  if (!bytes) fields.complain(name, "is missing, or not base64url");
  return bytes.value_or("");
}

Value take_value(api::Fields& fields) {
  if (const auto number = fields.integer("number")) return *number;
  const std::optional<std::string> armor = fields.text("bytes");
  std::optional<Bytes> bytes = armor ? unarmored(*armor) : std::nullopt;
  if (!bytes) fields.complain("bytes", "is missing, or not base64url");
  return std::move(bytes).value_or("");
}

Listed take_item(api::Fields& fields) {
  Listed listed;
  listed.key.partition = {take_bytes(fields, "home"), take_bytes(fields, "part")};
  listed.key.sort = fields.integer("sort").value_or(-1);
  const auto version = parse_version(fields.text("version").value_or(""));
  if (!version) fields.complain("version", "is not 16 hex digits");
  listed.item.version = version.value_or(Version());
  listed.item.value = take_value(fields);
  if (const auto expiry = fields.integer("expiry")) listed.item.expiry = Time(Duration(*expiry));
  return listed;
}

}  // namespace

std::string first_line() {
  return api::JsonObject().text("export", "once").integer("format", kFormat).finish();
}

std::string last_line(std::uint64_t items) {
  return api::JsonObject().integer("items", static_cast<std::int64_t>(items)).finish();
}

std::string item_line(const Listed& listed) {
  api::JsonObject out;
  add_bytes(out, "home", listed.key.partition.home);
  add_bytes(out, "part", listed.key.partition.part);
  out.integer("sort", listed.key.sort).text("version", version_text(listed.item.version));
  if (const auto* number = std::get_if<std::int64_t>(&listed.item.value)) {
    out.integer("number", *number);
  } else {
    out.text("bytes", armored(std::get<Bytes>(listed.item.value)));
  }
  if (listed.item.expiry != kNever) {
    out.integer("expiry", listed.item.expiry.time_since_epoch().count());
  }
  return out.finish();
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
    parsed = LastLine{static_cast<std::uint64_t>(*items)};
  } else {
    parsed = take_item(fields);
  }
  if (Result<void> ok = fields.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return parsed;
}

}  // namespace once::cli

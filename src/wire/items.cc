#include "wire/items.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "kernel/format.h"
#include "primitives/keys.h"
#include "wire/text.h"

namespace once::wire {
namespace {

constexpr std::size_t kVersionDigits = 16;
constexpr std::size_t kCheckBytes = 4;

void add_bytes(JsonObject& out, const std::string& name, const std::string& bytes) {
  is_utf8(bytes) ? out.text(name, bytes) : out.text(name + "64", base64url_encode(bytes));
}

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  const char* const end = std::to_address(text.end());
  const auto [stop, error] =
      std::from_chars(std::to_address(text.begin()), end, version.number, 16);
  const bool sound = error == std::errc() && stop == end && text.size() == kVersionDigits;
  return sound && version ? std::optional(version) : std::nullopt;
}

// The checksum that ends the item in a store (docs/formats.md).
std::int64_t check_of(const Listed& listed) {
  format::ItemView view{.version = listed.item.version, .expiry = listed.item.expiry};
  if (const auto* number = std::get_if<std::int64_t>(&listed.item.value)) {
    view.number = *number;
  } else {
    view.bytes = std::get<Bytes>(listed.item.value);
  }
  std::string key;
  format::encode_key(listed.key, key);
  std::string item;
  format::encode_item(key, view, item);
  std::int64_t check = 0;
  for (const char byte : item.substr(item.size() - kCheckBytes)) {
    check = check * 256 + static_cast<unsigned char>(byte);
  }
  return check;
}

std::string take_bytes(Fields& fields, const std::string& name) {
  if (std::optional<std::string> plain = fields.text(name)) return std::move(*plain);
  const std::optional<std::string> armor = fields.text(name + "64");
  std::optional<Bytes> bytes = armor ? base64url_decode(*armor) : std::nullopt;
  if (!bytes) fields.complain(name, "is missing, or not base64url");
  return std::move(bytes).value_or("");
}

Value take_value(Fields& fields) {
  if (const auto number = fields.integer("number")) return *number;
  const std::optional<std::string> armor = fields.text("bytes");
  std::optional<Bytes> bytes = armor ? base64url_decode(*armor) : std::nullopt;
  if (!bytes) fields.complain("bytes", "is missing, or not base64url");
  return std::move(bytes).value_or("");
}

Key take_key(Fields& fields) {
  Key key;
  key.partition = {take_bytes(fields, "home"), take_bytes(fields, "part")};
  if (!keys::is_home(key.partition.home)) fields.complain("home", "is none that once uses");
  const std::int64_t sort = fields.integer("sort").value_or(-1);
  if (sort < 0) fields.complain("sort", "is missing or negative");
  key.sort = sort;
  return key;
}

}  // namespace

std::string item_json(const Listed& listed) {
  JsonObject out;
  add_bytes(out, "home", listed.key.partition.home);
  add_bytes(out, "part", listed.key.partition.part);
  out.integer("sort", listed.key.sort).text("version", hex_text(listed.item.version.number));
  if (const auto* number = std::get_if<std::int64_t>(&listed.item.value)) {
    out.integer("number", *number);
  } else {
    out.text("bytes", base64url_encode(std::get<Bytes>(listed.item.value)));
  }
  if (listed.item.expiry != kNever) {
    out.integer("expiry", listed.item.expiry.time_since_epoch().count());
  }
  return out.integer("check", check_of(listed)).finish();
}

Listed take_item(Fields& fields) {
  Listed listed;
  listed.key = take_key(fields);
  const auto version = parse_version(fields.text("version").value_or(""));
  if (!version) fields.complain("version", "is not 16 hex digits");
  listed.item.version = version.value_or(Version());
  listed.item.value = take_value(fields);
  if (const auto expiry = fields.integer("expiry")) listed.item.expiry = Time(Duration(*expiry));
  // An item without a sort cannot be encoded, and so has no checksum.
  if (fields.integer("check") != (listed.key.sort < 0 ? -1 : check_of(listed))) {
    fields.complain("check", "is missing, or the item is damaged");
  }
  return listed;
}

}  // namespace once::wire

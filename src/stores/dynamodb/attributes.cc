#include "stores/dynamodb/attributes.h"

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "base/encoding.h"
#include "stores/dynamodb/names.h"

namespace once::dynamodb {
namespace {

// The text of attribute `name` if it is of `type`.
const std::string* text_of(const Json& attributes, const char* name, const char* type) {
  if (!attributes.is_object()) return nullptr;
  const auto attribute = attributes.find(name);
  if (attribute == attributes.end() || !attribute->is_object()) return nullptr;
  const auto value = attribute->find(type);
  return value == attribute->end() ? nullptr : value->get_ptr<const std::string*>();
}

template <class Integer>
std::optional<Integer> integer_of(const Json& attributes, const char* name) {
  const std::string* text = text_of(attributes, name, "N");
  if (text == nullptr) return std::nullopt;
  Integer value = 0;
  const char* const end = std::to_address(text->end());
  const auto [stopped, error] = std::from_chars(std::to_address(text->begin()), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::optional<Value> value_of(const Json& attributes) {
  if (const auto integer = integer_of<std::int64_t>(attributes, "v")) return Value(*integer);
  const std::string* text = text_of(attributes, "v", "B");
  if (text == nullptr) return std::nullopt;
  std::optional<std::string> bytes = base64_decode(*text);
  if (!bytes) return std::nullopt;
  return Value(std::move(*bytes));
}

}  // namespace

Json number(std::int64_t value) { return {{"N", std::to_string(value)}}; }
Json number(std::uint64_t value) { return {{"N", std::to_string(value)}}; }

std::int64_t ttl_of(Time expiry) {
  const Time safe = later(expiry, kClockError);
  return std::chrono::ceil<std::chrono::seconds>(safe.time_since_epoch()).count();
}

Result<Json> key_attributes(const Key& key) {
  std::string name = encode_partition(key.partition);
  if (name.size() > kMaxNameBytes) {
    return failure(ErrorCode::invalid,
                   "key takes more than DynamoDB's " + std::to_string(kMaxNameBytes) + " bytes");
  }
  return Json{{"pk", {{"S", std::move(name)}}}, {"sk", number(key.sort)}};
}

void add_item(Json& attributes, const Item& item) {
  if (const auto* integer = std::get_if<std::int64_t>(&item.value)) {
    attributes["v"] = number(*integer);
  } else {
    attributes["v"] = {{"B", base64_encode(std::get<Bytes>(item.value))}};
  }
  attributes["ver"] = number(item.version.number);
  if (item.expiry == kNever) return;
  attributes["exp"] = number(std::int64_t{item.expiry.time_since_epoch().count()});
  attributes["ttl"] = number(ttl_of(item.expiry));
}

Result<Item> item_in(const Json& attributes) {
  std::optional<Value> value = value_of(attributes);
  const auto version = integer_of<std::uint64_t>(attributes, "ver");
  const bool expires = attributes.is_object() && attributes.contains("exp");
  const auto expiry = integer_of<std::int64_t>(attributes, "exp");
  if (!value || !version || (expires && !expiry)) {
    return failure(ErrorCode::corrupt, "an item of the table is not one of Once");
  }
  return Item{std::move(*value), Version{*version}, expires ? Time(Duration(*expiry)) : kNever};
}

std::optional<std::int64_t> number_in(const Json& attributes) {
  return integer_of<std::int64_t>(attributes, "v");
}

Result<Key> key_in(const Json& attributes) {
  const std::string* name = text_of(attributes, "pk", "S");
  const auto sort = integer_of<std::int64_t>(attributes, "sk");
  std::optional<Partition> partition;
  if (name != nullptr) partition = decode_partition(*name);
  if (!partition || !sort) {
    return failure(ErrorCode::corrupt, "a key of the table is not one of Once");
  }
  return Key{std::move(*partition), *sort};
}

}  // namespace once::dynamodb

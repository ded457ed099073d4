#include "stores/s3/object.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "kernel/format.h"

namespace once::s3 {
namespace {

constexpr std::string_view kMagic = "ONCE";
constexpr char kItem = 'I';
constexpr char kTombstone = 'T';
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeadBytes = kMagic.size() + 1 + kLengthBytes;

std::string object_of(char kind, const Key& key, const Item& item) {
  std::string name;
  format::encode_key(key, name);
  std::string body(kMagic);
  body += kind;
  for (std::size_t i = kLengthBytes; i > 0; --i) {
    body += static_cast<char>(name.size() >> (8 * (i - 1)));
  }
  body += name;
  format::ItemView view{.version = item.version, .expiry = item.expiry};
  if (const auto* number = std::get_if<std::int64_t>(&item.value)) {
    view.number = *number;
  } else {
    view.bytes = std::get<Bytes>(item.value);
  }
  format::encode_item(name, view, body);
  return body;
}

std::unexpected<Error> corrupt() {
  return failure(ErrorCode::corrupt, "an object of the bucket is not one of Once, or damaged");
}

}  // namespace

std::string item_object(const Key& key, const Item& item) { return object_of(kItem, key, item); }

std::string tombstone_object(const Key& key, Version version, Time now) {
  return object_of(kTombstone, key,
                   {std::int64_t{now.time_since_epoch().count()}, version, kNever});
}

Result<Object> read_object(std::string_view body) {
  if (body.size() < kHeadBytes || !body.starts_with(kMagic)) return corrupt();
  const char kind = body[kMagic.size()];
  if (kind != kItem && kind != kTombstone) return corrupt();
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length = length << 8U | static_cast<unsigned char>(body[kMagic.size() + 1 + i]);
  }
  body.remove_prefix(kHeadBytes);
  if (body.size() < length) return corrupt();
  std::optional<Key> key = format::decode_key(body.substr(0, length));
  if (!key) return corrupt();
  const Result<format::ItemView> item =
      format::decode_item(body.substr(0, length), body.substr(length));
  if (!item) return std::unexpected(item.error());
  if (kind == kTombstone && !item->number) return corrupt();
  return Object{std::move(*key), format::to_item(*item), kind == kTombstone};
}

}  // namespace once::s3

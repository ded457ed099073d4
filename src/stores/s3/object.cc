#include "stores/s3/object.h"

#include <algorithm>
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
constexpr std::size_t kVersionBytes = 8;

void append_number(std::string& out, std::uint64_t number, std::size_t bytes) {
  while (bytes > 0) out += static_cast<char>(number >> (8 * --bytes));
}

std::unexpected<Error> corrupt() {
  return failure(ErrorCode::corrupt, "an object of the bucket is not one of Once, or damaged");
}

// Takes an object apart from the front. Once something is missing, nothing more is there.
class Parts {
 public:
  explicit Parts(std::string_view bytes) : left_(bytes) {}

  std::string_view take(std::size_t length) {
    whole_ &= length <= left_.size();
    const std::string_view part = left_.substr(0, whole_ ? length : 0);
    left_.remove_prefix(part.size());
    return part;
  }

  std::uint64_t take_number(std::size_t length) {
    std::uint64_t number = 0;
    for (const char c : take(length)) number = number << 8U | static_cast<unsigned char>(c);
    return number;
  }

  bool whole() const { return whole_; }
  std::string_view rest() const { return left_; }

 private:
  std::string_view left_;
  bool whole_ = true;
};

}  // namespace

std::vector<Version> after(Version version, const std::vector<Version>& before) {
  std::vector<Version> versions = {version};
  const std::size_t kept = std::min(before.size(), kMaxBefore - 1);
  versions.insert(versions.end(), before.begin(),
                  before.begin() + static_cast<std::ptrdiff_t>(kept));
  return versions;
}

Object tombstone(Key key, Version version, Time now) {
  const std::int64_t when = now.time_since_epoch().count();
  return {.key = std::move(key), .item = {when, version, kNever}, .before = {}, .tombstone = true};
}

std::string object_bytes(const Object& object) {
  std::string name;
  format::encode_key(object.key, name);
  std::string bytes(kMagic);
  bytes += object.tombstone ? kTombstone : kItem;
  append_number(bytes, name.size(), kLengthBytes);
  bytes += name;
  append_number(bytes, object.before.size(), 1);
  for (const Version version : object.before) append_number(bytes, version.number, kVersionBytes);
  format::ItemView view{.version = object.item.version, .expiry = object.item.expiry};
  if (const auto* number = std::get_if<std::int64_t>(&object.item.value)) {
    view.number = *number;
  } else {
    view.bytes = std::get<Bytes>(object.item.value);
  }
  std::string item;
  format::encode_item(bytes, view, item);
  return bytes.append(item);
}

Result<Object> read_object(std::string_view bytes) {
  Parts parts(bytes);
  const bool ours = parts.take(kMagic.size()) == kMagic;
  const std::string_view kind = parts.take(1);
  const std::string_view name = parts.take(parts.take_number(kLengthBytes));
  std::vector<Version> before(parts.take_number(1));
  for (Version& version : before) version.number = parts.take_number(kVersionBytes);
  if (!ours || !parts.whole() || (kind[0] != kItem && kind[0] != kTombstone)) return corrupt();
  std::optional<Key> key = format::decode_key(name);
  if (!key || before.size() > kMaxBefore) return corrupt();
  const std::string_view head = bytes.substr(0, bytes.size() - parts.rest().size());
  const Result<format::ItemView> item = format::decode_item(head, parts.rest());
  if (!item) return corrupt();
  const bool is_tombstone = kind[0] == kTombstone;
  if (is_tombstone && !item->number) return corrupt();
  return Object{std::move(*key), format::to_item(*item), std::move(before), is_tombstone};
}

}  // namespace once::s3

// 4 checksum of the rest | 2 length of home | 8 sort | home | part
#include "stores/memory/cursor.h"

#include <xxhash.h>

#include <cstdint>
#include <cstring>

namespace once::memory {
namespace {

constexpr std::size_t kHomeLengthAt = 4;
constexpr std::size_t kSortAt = 6;
constexpr std::size_t kHomeAt = 14;

std::uint32_t checksum(std::string_view cursor) {
  const std::string_view rest = cursor.substr(kHomeLengthAt);
  return XXH32(rest.data(), rest.size(), 0);
}

template <class T>
T read(std::string_view cursor, std::size_t offset) {
  T value;
  std::memcpy(&value, cursor.data() + offset, sizeof value);
  return value;
}

template <class T>
void write(std::string& cursor, std::size_t offset, T value) {
  std::memcpy(cursor.data() + offset, &value, sizeof value);
}

}  // namespace

std::string cursor_after(const Key& key) {
  std::string cursor(kHomeAt, '\0');
  write(cursor, kHomeLengthAt, static_cast<std::uint16_t>(key.partition.home.size()));
  write(cursor, kSortAt, key.sort);
  cursor += key.partition.home;
  cursor += key.partition.part;
  write(cursor, 0, checksum(cursor));
  return cursor;
}

std::optional<Key> key_of_cursor(std::string_view cursor) {
  if (cursor.size() < kHomeAt || read<std::uint32_t>(cursor, 0) != checksum(cursor)) return {};
  const std::size_t home_bytes = read<std::uint16_t>(cursor, kHomeLengthAt);
  if (home_bytes > cursor.size() - kHomeAt) return {};
  return Key{.partition = {.home = std::string(cursor.substr(kHomeAt, home_bytes)),
                           .part = std::string(cursor.substr(kHomeAt + home_bytes))},
             .sort = read<std::int64_t>(cursor, kSortAt)};
}

}  // namespace once::memory

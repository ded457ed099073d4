// memory:?max_bytes=1GB
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "kernel/store_kind.h"
#include "once/memory_store.h"

namespace once {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array kUnits = {Unit{"", 1},
                               Unit{"KB", 1'000},
                               Unit{"MB", 1'000'000},
                               Unit{"GB", 1'000'000'000},
                               Unit{"KiB", 1ULL << 10},
                               Unit{"MiB", 1ULL << 20},
                               Unit{"GiB", 1ULL << 30}};

// Less than that leaves no room for what a server itself keeps.
constexpr std::uint64_t kLeast = 1'000'000;
constexpr std::uint64_t kMost = 1ULL << 40;

// "1GB", "512MiB", "1000000".
std::optional<std::size_t> bytes_in(std::string_view text) {
  std::uint64_t count = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  if (read.ec != std::errc() || count == 0 || count > kMost) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  for (const Unit& unit : kUnits) {
    if (text != unit.name) continue;
    if (count > kMost / unit.bytes || count * unit.bytes < kLeast) return std::nullopt;
    return count * unit.bytes;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Store>> open_at(const Address& address, const OpenOptions& /*options*/) {
  constexpr std::string_view kMaxBytes = "max_bytes=";
  MemoryOptions options;
  std::string_view given = address.options;
  if (given.starts_with(kMaxBytes)) {
    const std::optional<std::size_t> bytes = bytes_in(given.substr(kMaxBytes.size()));
    if (!bytes) {
      return failure(ErrorCode::invalid, "max_bytes is a size such as 1GB or 512MiB, from 1MB on");
    }
    options.max_bytes = *bytes;
    given = {};
  }
  if (!address.place.empty() || !given.empty()) {
    return failure(ErrorCode::invalid, "memory: takes no place, and one option: max_bytes");
  }
  return open_memory(options);
}

std::vector<EngineNumber> numbers_of(Store& store) {
  const auto* const memory = dynamic_cast<MemoryStore*>(&store);
  if (memory == nullptr) return {};
  const MemoryUsage usage = memory->usage();
  return {{"once_store_bytes", "Bytes that are held for items.", static_cast<double>(usage.bytes)},
          {"once_store_items", "Items, expired ones included until they are swept.",
           static_cast<double>(usage.items)},
          {"once_store_evicted_total", "Items that were dropped before their end, to make room.",
           static_cast<double>(usage.evicted)}};
}

}  // namespace

StoreKind memory_kind() {
  return {.scheme = "memory",
          .example = "memory:?max_bytes=1GB",
          .description = "in this process's memory, gone when it ends",
          .open = open_at,
          .numbers = numbers_of};
}

}  // namespace once

#include "stores/rocksdb/numbers.h"

#include <rocksdb/statistics.h>

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

#include "stores/rocksdb/rocksdb_store.h"

namespace once {
namespace {

namespace fs = std::filesystem;

struct Property {
  const char* property;  // Of RocksDB.
  std::string_view name;
  std::string_view help;
};

constexpr std::array kProperties = {
    Property{"rocksdb.estimate-num-keys", "once_store_items", "Items, as the engine estimates."},
    Property{"rocksdb.estimate-pending-compaction-bytes", "once_engine_compaction_pending_bytes",
             "Bytes that the engine has yet to rewrite."},
    Property{"rocksdb.num-running-compactions", "once_engine_compactions_running",
             "Compactions under way."},
    Property{"rocksdb.is-write-stopped", "once_engine_writes_stopped",
             "1 while the engine takes no writes because it is behind."},
    Property{"rocksdb.cur-size-all-mem-tables", "once_engine_memtable_bytes",
             "Bytes that are in memory and not yet in a file."},
    Property{"rocksdb.block-cache-usage", "once_engine_cache_bytes",
             "Bytes of files that are cached in memory."},
    Property{"rocksdb.block-cache-capacity", "once_engine_cache_limit_bytes",
             "How many bytes of files are cached at most."},
};

// All files of the directory, the log of commits included; checkpoints share theirs.
double bytes_in(const fs::path& directory) {
  double bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;  // Files come and go.
    const auto size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) bytes += static_cast<double>(size);
  }
  return bytes;
}

}  // namespace

std::vector<EngineNumber> numbers_of_rocksdb(Store& store) {
  auto* const embedded = dynamic_cast<RocksDbStore*>(&store);
  return embedded != nullptr ? embedded->numbers() : std::vector<EngineNumber>();
}

std::vector<EngineNumber> RocksDbStore::numbers() {
  std::vector<EngineNumber> numbers = {
      {"once_store_bytes", "Bytes of the files of the store.", bytes_in(options_.directory)}};
  std::error_code error;
  const fs::space_info room = fs::space(options_.directory, error);
  if (!error) {
    numbers.push_back({"once_store_free_bytes", "Bytes that are free on the disk of the store.",
                       static_cast<double>(room.available)});
  }
  for (const Property& property : kProperties) {
    std::uint64_t value = 0;
    if (!db_.GetIntProperty(property.property, &value)) continue;
    numbers.push_back({property.name, property.help, static_cast<double>(value)});
  }
  const std::shared_ptr<rocksdb::Statistics> counted = db_.GetDBOptions().statistics;
  if (counted == nullptr) return numbers;
  numbers.push_back({"once_engine_cache_hits_total",
                     "Blocks of files that were found in the cache.",
                     static_cast<double>(counted->getTickerCount(rocksdb::BLOCK_CACHE_HIT))});
  numbers.push_back({"once_engine_cache_misses_total", "Blocks of files that had to be read.",
                     static_cast<double>(counted->getTickerCount(rocksdb::BLOCK_CACHE_MISS))});
  return numbers;
}

}  // namespace once

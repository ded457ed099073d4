// Reads the log of commits when a store is opened.
//
// A crash tears only what was not synced. So a record that cannot be read is dropped, unless a
// later one says that it was synced: then the store is damaged, and opening it fails.
#pragma once

#include <rocksdb/env.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "stores/rocksdb/commit_record.h"

namespace once {

struct FoundSegment {
  SegmentHeader header;
  std::size_t bytes = 0;
  std::size_t used = kSegmentHeaderBytes;  // Replayed up to here.
  std::optional<std::uint64_t> first;      // The sequence of its first record, if it has any.
};

struct Replayed {
  std::vector<FoundSegment> segments;  // Those with records, oldest first.
  bool end_is_free = false;            // No part of a record follows the last one.
  std::uint64_t next_sequence = 1;
  std::size_t bytes = 0;  // In all segments.
  // Segments that were never used, or whose records are dropped. They are removed in this order
  // before anything is appended.
  std::vector<std::uint64_t> unused;
};

// Calls `apply` with each batch, in order. `corrupt`, or `unsupported` for a newer format.
Result<Replayed> replay_commits(rocksdb::Env& env, const std::string& directory,
                                const std::function<Result<void>(std::string_view)>& apply);

}  // namespace once

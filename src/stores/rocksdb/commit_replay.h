// Reads the log of commits when a store is opened.
//
// A crash tears at most what was not synced, so what cannot be read is dropped if nothing later
// says that it was synced: nobody was answered for it. If something does, it is damage, and
// refused.
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
  std::size_t used = kSegmentHeaderBytes;  // Up to here it was replayed.
  std::optional<std::uint64_t> first;      // The sequence of its first record, if it has any.
};

struct Replayed {
  std::vector<FoundSegment> segments;  // Those with records, oldest first.
  bool end_is_free = false;            // Nothing of a record stands behind the last one's end.
  std::uint64_t next_sequence = 1;
  std::size_t bytes = 0;  // In all segments.
  // Segments that were made but not used, or whose records are dropped; to be removed in this
  // order before anything is appended.
  std::vector<std::uint64_t> unused;
};

// Each batch is handed to `apply`, in order. `corrupt`, or `unsupported` for a newer format.
Result<Replayed> replay_commits(rocksdb::Env& env, const std::string& directory,
                                const std::function<Result<void>(std::string_view)>& apply);

}  // namespace once

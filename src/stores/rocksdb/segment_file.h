// One file of the store's log of commits. It has its final length from the start, filled with zeros
// or with earlier records: so a sync writes what was appended and never the file's inode.
#pragma once

#include <rocksdb/env.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "stores/rocksdb/commit_record.h"

namespace once {

std::string segment_name(std::uint64_t number);
std::string spare_name(std::uint64_t number);

// The number in a segment's name; empty for any other name.
std::optional<std::uint64_t> segment_number(std::string_view name);
bool is_spare(std::string_view name);

// Afterwards the directory's entries survive power loss.
rocksdb::Status sync_directory(rocksdb::Env& env, const std::string& directory);

// Makes a segment without records. The file is synced, its entry in the directory is not.
rocksdb::Status make_segment(rocksdb::Env& env, const std::string& path,
                             const SegmentHeader& header, std::size_t bytes);

class SegmentFile {
 public:
  // Opens a file of `bytes` bytes, of which header and records take `used`.
  static rocksdb::Status open(rocksdb::Env& env, const std::string& path,
                              const SegmentHeader& header, std::size_t bytes, std::size_t used,
                              std::unique_ptr<SegmentFile>& made);

  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // Writes and syncs this segment's header into a file that was another segment.
  rocksdb::Status begin();

  // Seals `record`, which must fit, and lets the disk begin to write it.
  rocksdb::Status append(std::string& record, std::uint64_t sequence, std::uint64_t durable);
  rocksdb::Status sync();

  bool fits(std::size_t bytes) const { return bytes <= bytes_ - used_; }
  std::uint64_t number() const { return header_.number; }
  std::size_t bytes() const { return bytes_; }
  std::size_t used() const { return used_; }
  bool unsynced() const { return unsynced_; }

  // The sequence of the first record, in a segment that has records already.
  void set_first(std::uint64_t first) { first_ = first; }

 private:
  SegmentFile(std::unique_ptr<rocksdb::RandomRWFile> file, const SegmentHeader& header,
              std::size_t bytes, std::size_t used, int hints)
      : file_(std::move(file)), header_(header), bytes_(bytes), used_(used), hints_(hints) {}

  const std::unique_ptr<rocksdb::RandomRWFile> file_;
  const SegmentHeader header_;
  const std::size_t bytes_;
  std::size_t used_;
  std::optional<std::uint64_t> first_;
  bool unsynced_ = false;
  const int hints_;  // The same file, to tell the system what to write out; or -1.
};

}  // namespace once

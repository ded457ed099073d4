// One file of the store's log of commits. It is as long as it will ever be, in written zeros or in
// what it held before: so a sync writes what was appended and never the file's inode.
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

// Of a segment's name; empty for any other.
std::optional<std::uint64_t> segment_number(std::string_view name);
bool is_spare(std::string_view name);

// What the directory has of files now survives power loss.
rocksdb::Status sync_directory(rocksdb::Env& env, const std::string& directory);

// A segment without records, synced; its entry in the directory is not.
rocksdb::Status make_segment(rocksdb::Env& env, const std::string& path,
                             const SegmentHeader& header, std::size_t bytes);

class SegmentFile {
 public:
  // Of a file that exists and is so long. It has `used` bytes of records and header.
  static rocksdb::Status open(rocksdb::Env& env, const std::string& path,
                              const SegmentHeader& header, std::size_t bytes, std::size_t used,
                              std::unique_ptr<SegmentFile>& made);

  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // Makes a file that was another segment this one: its header is synced.
  rocksdb::Status begin();

  // `record` is not sealed yet, and fits. The disk begins to write it.
  rocksdb::Status append(std::string& record, std::uint64_t sequence, std::uint64_t durable);
  rocksdb::Status sync();

  bool fits(std::size_t bytes) const { return bytes <= bytes_ - used_; }
  std::uint64_t number() const { return header_.number; }
  std::size_t bytes() const { return bytes_; }
  std::size_t used() const { return used_; }
  bool unsynced() const { return unsynced_; }

  // The sequence of its first record, if it has one from before.
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
  const int hints_;  // The file once more, to tell the system what will be synced; or -1.
};

}  // namespace once

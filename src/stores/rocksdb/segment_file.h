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
#include "stores/rocksdb/mapped_pages.h"

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

// How a record gets into its file. A store that syncs every record asks the system to write it; one
// that does not stores it in the file's pages, where that is possible.
enum class AppendBy : std::uint8_t { call, pages };

class SegmentFile {
 public:
  // Opens a file of `bytes` bytes, of which header and records take `used`.
  static rocksdb::Status open(rocksdb::Env& env, const std::string& path,
                              const SegmentHeader& header, std::size_t bytes, std::size_t used,
                              AppendBy way, std::unique_ptr<SegmentFile>& made);

  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // Writes and syncs this segment's header into a file that was another segment.
  rocksdb::Status begin();

  // Seals `record`, which must fit, and puts it into the file: it survives the end of the process.
  rocksdb::Status append(std::string& record, std::uint64_t sequence, std::uint64_t durable);

  // Lets the disk begin to write what was appended since the last call, so that a sync() soon
  // afterwards finds most of it done. This starts a transfer, which costs more than the append
  // itself.
  void begin_sync();
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
              std::size_t bytes, std::size_t used, AppendBy way, int hints);

  const std::unique_ptr<rocksdb::RandomRWFile> file_;
  const SegmentHeader header_;
  const std::size_t bytes_;
  std::size_t used_;
  std::size_t begun_ = used_;  // Up to here the disk was told to write.
  std::optional<std::uint64_t> first_;
  bool unsynced_ = false;
  const int hints_;  // The same file, to tell the system what to write out; or -1.
  std::unique_ptr<MappedPages> pages_;
};

}  // namespace once

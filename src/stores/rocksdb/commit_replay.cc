#include "stores/rocksdb/commit_replay.h"

#include <algorithm>
#include <utility>

#include "stores/rocksdb/engine.h"
#include "stores/rocksdb/segment_file.h"

namespace once {
namespace {

using ApplyRecord = std::function<Result<void>(std::string_view)>;

struct Loaded {
  SegmentHeader header;
  std::string bytes;
};

class Replay {
 public:
  Replay(rocksdb::Env& env, const std::string& directory, const ApplyRecord& apply)
      : env_(env), directory_(directory), apply_(apply) {}

  Result<Replayed> run();

 private:
  Result<void> list();
  Result<void> make_durable();
  Result<Loaded> load(std::uint64_t number);
  Result<void> replay(const Loaded& segment, FoundSegment& found);
  bool continues_in(const Loaded& segment) const;
  Result<void> stop(std::size_t at, const Loaded& segment, const FoundSegment& found);
  Result<bool> search(const Loaded& segment, std::size_t from, bool first_searched) const;
  std::unexpected<Error> damaged(std::uint64_t number, ErrorCode code, std::string_view how) const;

  rocksdb::Env& env_;
  const std::string& directory_;
  const ApplyRecord& apply_;
  std::vector<std::uint64_t> numbers_;
  std::optional<std::uint64_t> expected_;  // The next sequence; empty before the first record.
  Replayed replayed_;
};

std::unexpected<Error> Replay::damaged(std::uint64_t number, ErrorCode code,
                                       std::string_view how) const {
  std::string message = "cannot open the store: ";
  message.append(directory_).append("/").append(segment_name(number)).append(": ").append(how);
  return failure(code, std::move(message));
}

Result<void> Replay::list() {
  std::vector<std::string> names;
  const rocksdb::Status status = env_.GetChildren(directory_, &names);
  if (!status.ok()) return std::unexpected(error_of(status, "cannot open the store"));
  for (const std::string& name : names) {
    if (const auto number = segment_number(name)) numbers_.push_back(*number);
  }
  std::ranges::sort(numbers_);
  return {};
}

// A killed process may have left records that are only in the system's memory. Once they are
// replayed the database may have them in its files, and then the log must not lack them.
Result<void> Replay::make_durable() {
  for (const std::uint64_t number : numbers_) {
    std::string path = directory_;
    path.append("/").append(segment_name(number));
    std::unique_ptr<rocksdb::RandomRWFile> file;
    rocksdb::Status status = env_.NewRandomRWFile(path, &file, rocksdb::EnvOptions());
    if (status.ok()) status = file->Sync();
    if (!status.ok()) return std::unexpected(error_of(status, "cannot open the store"));
  }
  return {};
}

Result<Loaded> Replay::load(std::uint64_t number) {
  Loaded loaded;
  std::string path = directory_;
  path.append("/").append(segment_name(number));
  const rocksdb::Status status = rocksdb::ReadFileToString(&env_, path, &loaded.bytes);
  if (!status.ok()) return std::unexpected(error_of(status, "cannot open the store"));
  const Result<SegmentHeader> header = decode_segment_header(loaded.bytes);
  if (!header) return damaged(number, header.error().code, header.error().message);
  if (header->number != number) {
    return damaged(number, ErrorCode::corrupt, "it has the name of another segment");
  }
  loaded.header = *header;
  return loaded;
}

Result<void> Replay::replay(const Loaded& segment, FoundSegment& found) {
  while (const auto record = record_at(segment.bytes, found.used, segment.header.nonce)) {
    if (!expected_) expected_ = record->header.sequence;
    if (record->header.sequence != *expected_) break;
    if (!found.first) found.first = record->header.first;
    if (Result<void> applied = for_each_batch(record->batches, apply_); !applied) {
      return damaged(segment.header.number, applied.error().code, applied.error().message);
    }
    ++*expected_;
    found.used += record->bytes;
  }
  return {};
}

bool Replay::continues_in(const Loaded& segment) const {
  const auto record = record_at(segment.bytes, kSegmentHeaderBytes, segment.header.nonce);
  return expected_ && record && record->header.sequence == *expected_;
}

// True if records follow that are dropped; `corrupt` if one of them says that the missing one was
// synced.
Result<bool> Replay::search(const Loaded& segment, std::size_t from, bool first_searched) const {
  bool follows = false;
  for (std::size_t at = from; at < segment.bytes.size(); at += kRecordAlignment) {
    const auto header = record_header_at(segment.bytes, at, segment.header.nonce);
    if (!header) continue;
    // Before any record was read, the missing one is the first of its segment.
    if (!expected_ && !first_searched) {
      return damaged(segment.header.number, ErrorCode::corrupt, "the segment before it is damaged");
    }
    const std::uint64_t missing = expected_ ? *expected_ : header->first;
    if (header->durable >= missing) {
      std::string how = "commit record ";
      how.append(std::to_string(missing)).append(" is damaged or missing, and record ");
      how.append(std::to_string(header->sequence)).append(" at byte ").append(std::to_string(at));
      how.append(
          " says that it was synced. Keep a copy of the directory, and restore a checkpoint");
      return damaged(segment.header.number, ErrorCode::corrupt, how);
    }
    follows = follows || header->sequence > missing;
  }
  return follows;
}

// Everything from here on is dropped, or the store is damaged.
Result<void> Replay::stop(std::size_t at, const Loaded& segment, const FoundSegment& found) {
  const Result<bool> follows = search(segment, found.used, true);
  if (!follows) return std::unexpected(follows.error());
  for (std::size_t later = at + 1; later < numbers_.size(); ++later) {
    const Result<Loaded> other = load(numbers_[later]);
    if (!other) return std::unexpected(other.error());
    const Result<bool> checked = search(*other, kSegmentHeaderBytes, false);
    if (!checked) return std::unexpected(checked.error());
  }
  replayed_.unused.assign(numbers_.rbegin(), numbers_.rend() - static_cast<std::ptrdiff_t>(at + 1));
  if (found.first) {
    replayed_.end_is_free = !*follows;
    replayed_.segments.push_back(found);
  } else {
    replayed_.unused.push_back(numbers_[at]);
  }
  return {};
}

Result<Replayed> Replay::run() {
  if (Result<void> listed = list(); !listed) return std::unexpected(listed.error());
  if (numbers_.empty()) return std::move(replayed_);
  if (Result<void> durable = make_durable(); !durable) return std::unexpected(durable.error());
  Result<Loaded> segment = load(numbers_[0]);
  for (std::size_t at = 0;; ++at) {
    if (!segment) return std::unexpected(segment.error());
    FoundSegment found{.header = segment->header, .bytes = segment->bytes.size()};
    if (Result<void> done = replay(*segment, found); !done) return std::unexpected(done.error());
    replayed_.bytes += found.used - kSegmentHeaderBytes;
    Result<Loaded> next = failure(ErrorCode::unavailable, "");
    const bool last = at + 1 == numbers_.size();
    if (!last) next = load(numbers_[at + 1]);
    if (!last && !next) return std::unexpected(next.error());
    if (last || !continues_in(*next)) {
      if (Result<void> stopped = stop(at, *segment, found); !stopped) {
        return std::unexpected(stopped.error());
      }
      break;
    }
    replayed_.segments.push_back(found);
    segment = std::move(next);
  }
  replayed_.next_sequence = expected_.value_or(1);
  return std::move(replayed_);
}

}  // namespace

Result<Replayed> replay_commits(rocksdb::Env& env, const std::string& directory,
                                const ApplyRecord& apply) {
  return Replay(env, directory, apply).run();
}

}  // namespace once

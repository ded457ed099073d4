#include "stores/rocksdb/segments.h"

#include <algorithm>
#include <utility>

#include "once/entropy.h"

namespace once {
namespace {

// The first is small, because a store may be opened for a single commit. Each is four times the
// size of the one before, up to the largest. One that a commit has to wait for is smaller.
constexpr std::size_t kSmallest = 64U << 10;
constexpr std::size_t kLargest = 16U << 20;
constexpr std::size_t kLargestWaitedFor = 1U << 20;
constexpr std::size_t kMaxSpares = 8;

std::size_t size_after(std::size_t bytes) { return std::clamp(4 * bytes, kSmallest, kLargest); }

}  // namespace

std::string Segments::path_of(const std::string& name) const {
  std::string path = directory_;
  return path.append("/").append(name);
}

rocksdb::Status Segments::remove_left_overs(const Replayed& replayed, bool all) {
  std::vector<std::string> names;
  rocksdb::Status status = env_.GetChildren(directory_, &names);
  std::erase_if(names, [](const std::string& name) { return !is_spare(name); });
  for (const std::uint64_t number : replayed.unused) names.push_back(segment_name(number));
  if (all) {
    for (const FoundSegment& found : replayed.segments) {
      names.push_back(segment_name(found.header.number));
    }
  }
  if (!status.ok() || names.empty()) return status;
  for (const std::string& name : names) {
    if (status.ok()) status = env_.DeleteFile(path_of(name));
  }
  return status.ok() ? sync_directory(env_, directory_) : status;
}

rocksdb::Status Segments::start(const Replayed& replayed,
                                std::optional<rocksdb::SequenceNumber> applied) {
  rocksdb::Status status = remove_left_overs(replayed, !applied);
  if (!status.ok()) return status;
  sequence_ = replayed.next_sequence;
  durable_ = sequence_ - 1;
  const Lock lock(mutex_);
  if (applied) {
    for (const FoundSegment& found : replayed.segments) {
      full_.push_back({.number = found.header.number, .bytes = found.bytes, .applied = applied});
    }
  }
  if (full_.empty()) return status;
  // What was read may have been written by a process that was killed before it synced.
  const FoundSegment& last = replayed.segments.back();
  status = SegmentFile::open(env_, path_of(segment_name(last.header.number)), last.header,
                             last.bytes, last.used, way_, current_);
  if (status.ok()) status = current_->sync();
  if (!status.ok()) return status;
  number_ = current_->number();
  bytes_ = current_->bytes();
  if (replayed.end_is_free) {
    current_->set_first(*last.first);
    full_.pop_back();
  } else {
    current_.reset();
  }
  return status;
}

rocksdb::Status Segments::append(std::string& record, GroupNumber last) {
  const std::size_t bytes = sealed_bytes(record);
  rocksdb::Status status;
  if (current_ == nullptr || !current_->fits(bytes)) status = rotate(bytes);
  if (status.ok()) status = current_->append(record, sequence_, durable_);
  if (!status.ok()) return status;
  ++sequence_;
  last_ = last;
  const Lock lock(mutex_);
  half_full_ = current_->used() > current_->bytes() / 2;
  return status;
}

void Segments::begin_sync() {
  if (current_ != nullptr && current_->unsynced()) current_->begin_sync();
}

rocksdb::Status Segments::sync() {
  if (current_ == nullptr || !current_->unsynced()) return {};
  const rocksdb::Status status = current_->sync();
  if (status.ok()) durable_ = sequence_ - 1;
  return status;
}

rocksdb::Status Segments::rotate(std::size_t bytes) {
  // A replay reads the next segment only after all of this one.
  rocksdb::Status status = sync();
  if (!status.ok()) return status;
  const std::size_t needed = kSegmentHeaderBytes + bytes;
  const Lock lock(mutex_);
  std::unique_ptr<SegmentFile> next = std::move(next_);
  if (next != nullptr && next->bytes() < needed) {
    next.reset();
    status = env_.DeleteFile(path_of(segment_name(number_ + 1)));
  }
  if (status.ok() && next == nullptr) {
    const std::size_t wanted = std::min(size_after(bytes_), kLargestWaitedFor);
    status = make(number_ + 1, std::max(wanted, needed), next);
  }
  if (!status.ok()) return status;
  if (current_ != nullptr) {
    full_.push_back({.number = number_, .bytes = bytes_, .last = last_, .applied = std::nullopt});
  }
  current_ = std::move(next);
  number_ = current_->number();
  bytes_ = current_->bytes();
  half_full_ = false;
  gave_up_ = false;
  return status;
}

// A segment gets its name after its header is synced. So a named one with a bad header is damaged.
rocksdb::Status Segments::make(std::uint64_t number, std::size_t bytes,
                               std::unique_ptr<SegmentFile>& made) {
  const SegmentHeader header{.number = number, .nonce = system_entropy().random()};
  const std::string path = path_of(segment_name(number));
  const std::string before = path_of(spare_name(0));
  rocksdb::Status status = make_segment(env_, before, header, bytes);
  if (status.ok()) status = env_.RenameFile(before, path);
  if (status.ok()) status = sync_directory(env_, directory_);
  if (!status.ok()) return status;
  return SegmentFile::open(env_, path, header, bytes, kSegmentHeaderBytes, way_, made);
}

bool Segments::awaits_applied() const {
  const Lock lock(mutex_);
  return !full_.empty() && !full_.back().applied;
}

void Segments::applied(GroupNumber group, rocksdb::SequenceNumber latest) {
  const Lock lock(mutex_);
  for (Full& full : full_) {
    if (!full.applied && full.last <= group) full.applied = latest;
  }
}

void Segments::flushed(rocksdb::SequenceNumber sequence) {
  const Lock lock(mutex_);
  flushed_ = std::max(flushed_, sequence);
}

bool Segments::releasable() const {
  return !stuck_ && !full_.empty() && full_.front().applied && *full_.front().applied <= flushed_;
}

bool Segments::wants_next() const { return half_full_ && next_ == nullptr && !gave_up_; }

bool Segments::wants_upkeep() const {
  const Lock lock(mutex_);
  return releasable() || wants_next();
}

void Segments::upkeep() {
  release();
  prepare_next();
}

// Oldest first, and synced one by one: what remains is always the end of the log.
void Segments::release() {
  const Lock lock(mutex_);
  if (!releasable()) return;
  const Full& oldest = full_.front();
  const std::string path = path_of(segment_name(oldest.number));
  rocksdb::Status status;
  if (oldest.bytes == kLargest && spares_.size() < kMaxSpares) {
    const std::string spare = path_of(spare_name(++spares_made_));
    status = env_.RenameFile(path, spare);
    if (status.ok()) spares_.push_back({.path = spare, .bytes = oldest.bytes});
  } else {
    status = env_.DeleteFile(path);
  }
  if (status.ok()) status = sync_directory(env_, directory_);
  if (status.ok()) {
    full_.pop_front();
  } else {
    stuck_ = true;
  }
}

std::optional<Segments::Spare> Segments::take_or_make_spare() {
  Spare spare;
  {
    const Lock lock(mutex_);
    if (!spares_.empty()) {
      spare = std::move(spares_.back());
      spares_.pop_back();
      return spare;
    }
    spare = {.path = path_of(spare_name(++spares_made_)), .bytes = size_after(bytes_)};
  }
  if (!make_segment(env_, spare.path, {}, spare.bytes).ok()) return std::nullopt;
  return spare;
}

void Segments::prepare_next() {
  SegmentHeader header{.number = 0, .nonce = system_entropy().random()};
  {
    const Lock lock(mutex_);
    if (!wants_next()) return;
    header.number = number_ + 1;
  }
  const std::optional<Spare> spare = take_or_make_spare();
  std::unique_ptr<SegmentFile> next;
  bool ready = spare && SegmentFile::open(env_, spare->path, header, spare->bytes,
                                          kSegmentHeaderBytes, way_, next)
                            .ok();
  ready = ready && next->begin().ok();
  const Lock lock(mutex_);
  if (ready && number_ + 1 != header.number) {
    spares_.push_back(*spare);  // An append made one meanwhile.
    return;
  }
  ready = ready && env_.RenameFile(spare->path, path_of(segment_name(header.number))).ok() &&
          sync_directory(env_, directory_).ok();
  if (ready) next_ = std::move(next);
  gave_up_ = !ready;
}

}  // namespace once

#include "stores/rocksdb/segment_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "stores/rocksdb/engine.h"

namespace once {
namespace {

constexpr std::string_view kSegment = "commits.";
constexpr std::string_view kSpare = "commits.spare.";
constexpr std::size_t kDigits = 10;
constexpr std::size_t kWrittenAtOnce = 1U << 20;

std::string numbered(std::string_view prefix, std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string name(prefix);
  if (digits.size() < kDigits) name.append(kDigits - digits.size(), '0');
  return name.append(digits);
}

}  // namespace

std::string segment_name(std::uint64_t number) { return numbered(kSegment, number); }
std::string spare_name(std::uint64_t number) { return numbered(kSpare, number); }

std::optional<std::uint64_t> segment_number(std::string_view name) {
  if (!name.starts_with(kSegment)) return std::nullopt;
  name.remove_prefix(kSegment.size());
  std::uint64_t number = 0;
  const char* const end = std::to_address(name.end());
  const auto [stop, error] = std::from_chars(std::to_address(name.begin()), end, number);
  if (error != std::errc() || stop != end || name.size() < kDigits) return std::nullopt;
  return number;
}

bool is_spare(std::string_view name) { return name.starts_with(kSpare); }

rocksdb::Status sync_directory(rocksdb::Env& env, const std::string& directory) {
  std::unique_ptr<rocksdb::Directory> opened;
  const rocksdb::Status status = env.NewDirectory(directory, &opened);
  return status.ok() ? opened->Fsync() : status;
}

rocksdb::Status make_segment(rocksdb::Env& env, const std::string& path,
                             const SegmentHeader& header, std::size_t bytes) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.NewWritableFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return status;
  std::string chunk = encode_segment_header(header);
  chunk.resize(std::min(bytes, kWrittenAtOnce));
  for (std::size_t written = 0; status.ok() && written < bytes; written += chunk.size()) {
    if (written == chunk.size()) chunk.assign(chunk.size(), '\0');
    status = file->Append(rocksdb::Slice(chunk.data(), std::min(chunk.size(), bytes - written)));
  }
  if (status.ok()) status = file->Fsync();
  if (status.ok()) status = file->Close();
  if (!status.ok()) env.DeleteFile(path).PermitUncheckedError();
  return status;
}

rocksdb::Status SegmentFile::open(rocksdb::Env& env, const std::string& path,
                                  const SegmentHeader& header, std::size_t bytes, std::size_t used,
                                  AppendBy way, std::unique_ptr<SegmentFile>& made) {
  std::unique_ptr<rocksdb::RandomRWFile> file;
  const rocksdb::Status status = env.NewRandomRWFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return status;
  const int hints = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  made.reset(new SegmentFile(std::move(file), header, bytes, used, way, hints));
  return status;
}

SegmentFile::SegmentFile(std::unique_ptr<rocksdb::RandomRWFile> file, const SegmentHeader& header,
                         std::size_t bytes, std::size_t used, AppendBy way, int hints)
    : file_(std::move(file)), header_(header), bytes_(bytes), used_(used), hints_(hints) {
  if (way == AppendBy::pages && hints_ >= 0) pages_ = MappedPages::map(hints_, bytes_);
}

SegmentFile::~SegmentFile() {
  if (hints_ >= 0) ::close(hints_);
}

rocksdb::Status SegmentFile::begin() {
  const rocksdb::Status status = file_->Write(0, encode_segment_header(header_));
  return status.ok() ? file_->Fsync() : status;
}

rocksdb::Status SegmentFile::append(std::string& record, std::uint64_t sequence,
                                    std::uint64_t durable) {
  if (!first_) first_ = sequence;
  seal_record({.first = *first_, .sequence = sequence, .durable = durable}, header_.nonce, record);
  rocksdb::Status status;
  if (pages_ != nullptr) {
    pages_->store(used_, record);
  } else {
    status = file_->Write(used_, record);
  }
  if (!status.ok()) return status;
  used_ += record.size();
  unsynced_ = true;
  return status;
}

void SegmentFile::begin_sync() {
#if defined(__linux__)
  // sync() is what counts, so a failure here does not matter.
  if (hints_ >= 0) {
    static_cast<void>(::sync_file_range(hints_, static_cast<off64_t>(begun_),
                                        static_cast<off64_t>(used_ - begun_),
                                        SYNC_FILE_RANGE_WRITE));
  }
#endif
  begun_ = used_;
}

rocksdb::Status SegmentFile::sync() {
  const rocksdb::Status status = file_->Sync();
  if (!status.ok()) return status;
  unsynced_ = false;
  begun_ = used_;
  return status;
}

}  // namespace once

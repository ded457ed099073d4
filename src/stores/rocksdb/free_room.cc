#include "stores/rocksdb/free_room.h"

namespace once {

Result<void> FreeRoom::check(std::size_t bytes) {
  const auto wanted = static_cast<std::int64_t>(bytes);
  const Time now = clock_.now();
  if (bytes_until_look_.fetch_sub(wanted, std::memory_order_relaxed) > wanted &&
      now < next_look_.load(std::memory_order_relaxed)) {
    return {};
  }
  std::uint64_t room = 0;
  // If the free space is not known, the write itself will fail.
  if (env_.GetFreeSpace(directory_, &room).ok() && room < keep_free_bytes_ + bytes) {
    bytes_until_look_ = 0;
    return failure(ErrorCode::unavailable, "the disk has " + std::to_string(room >> 20) +
                                               " MiB free and " +
                                               std::to_string(keep_free_bytes_ >> 20) +
                                               " MiB are to be kept free: " + directory_);
  }
  bytes_until_look_ = kLookBytes;
  next_look_ = later(now, kLookEvery);
  return {};
}

}  // namespace once

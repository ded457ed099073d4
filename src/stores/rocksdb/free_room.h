// Refuses a commit before it begins if the disk is nearly full: a write that fails in the middle
// leaves it unknown what was written.
#pragma once

#include <rocksdb/env.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "once/error.h"
#include "once/time.h"

namespace once {

class FreeRoom {
 public:
  // `env` and `clock` must outlive this.
  FreeRoom(rocksdb::Env& env, std::string directory, std::size_t keep_free_bytes, Clock& clock)
      : env_(env),
        directory_(std::move(directory)),
        keep_free_bytes_(keep_free_bytes),
        clock_(clock) {}

  // `unavailable` if writing `bytes` would leave less than keep_free_bytes. Asks the file system
  // only every kLookEvery or kLookBytes, and each time while space is short.
  Result<void> check(std::size_t bytes);

 private:
  static constexpr Duration kLookEvery = std::chrono::milliseconds(100);
  static constexpr std::int64_t kLookBytes = 1 << 20;

  rocksdb::Env& env_;
  const std::string directory_;
  const std::size_t keep_free_bytes_;
  Clock& clock_;
  std::atomic<std::int64_t> bytes_until_look_ = 0;
  std::atomic<Time> next_look_ = Time::min();
};

}  // namespace once

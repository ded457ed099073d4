// Translates RocksDB's errors.
#pragma once

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <string>
#include <string_view>

#include "once/error.h"

namespace once {

// For calls that write nothing. Writer decides what a failed write means.
inline Error error_of(const rocksdb::Status& status, std::string_view doing) {
  ErrorCode code = ErrorCode::unavailable;
  if (status.IsCorruption()) code = ErrorCode::corrupt;
  if (status.IsNotSupported()) code = ErrorCode::unsupported;
  if (status.IsInvalidArgument()) code = ErrorCode::invalid;
  return {code, std::string(doing) + ": " + status.ToString()};
}

inline rocksdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view_of(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace once

// What S3's answer to one request means. The one place where its errors become ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aws/message.h"
#include "once/error.h"
#include "stores/s3/object.h"

namespace once::s3 {

// To a PUT or DELETE.
struct Written {
  enum class Kind : std::uint8_t {
    done,     // `etag` is the object's now, after a PUT.
    refused,  // Nothing was written: the condition does not hold (412), or there is nothing to
              // match (404).
    again,    // Nothing was written because of a conflict (409).
    failed,   // `error` says whether anything was written.
  };
  Kind kind = Kind::failed;
  std::string etag;
  Error error{ErrorCode::unavailable, {}};
};
Written read_written(const Result<aws::Response>& response);

// The answer to a GET of an object.
struct Found {
  std::optional<Object> object;
  std::string etag;
};
// A reading has no outcome to be in doubt about: what failed is `unavailable`, not `unknown`.
// `name` is the object's: it tells a plain one.
Result<Found> read_found(std::string_view name, const Result<aws::Response>& response);
Result<Found> read_found(std::string_view name, const Key& key,
                         const Result<aws::Response>& response);

// The same for any other reading: the answer's body, or nothing where there is no such object.
Result<std::optional<std::string>> read_body(const Result<aws::Response>& response);

}  // namespace once::s3

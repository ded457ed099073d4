// Answers of S3 that Ceph never gives, for a Relay.
#pragma once

#include "testing/relay/relay.h"

namespace once::testing {

// A refusal in S3's words: s3_refused("409 Conflict", "ConditionalRequestConflict").
inline Answer s3_refused(const std::string& status, const std::string& code) {
  return {.status = status,
          .body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>" + code +
                  "</Code><Message>injected</Message></Error>",
          .headers = {"Content-Type: application/xml"}};
}

inline Answer s3_conflict() { return s3_refused("409 Conflict", "ConditionalRequestConflict"); }
inline Answer s3_slow_down() { return s3_refused("503 Slow Down", "SlowDown"); }
inline Answer s3_internal_error() {
  return s3_refused("500 Internal Server Error", "InternalError");
}
inline Answer s3_no_such_key() { return s3_refused("404 Not Found", "NoSuchKey"); }

}  // namespace once::testing

// What DynamoDB's answer to one request means.
#pragma once

#include <cstdint>
#include <string>

#include "aws/message.h"
#include "once/error.h"
#include "stores/dynamodb/attributes.h"

namespace once::dynamodb {

struct Reply {
  enum class Kind : std::uint8_t {
    done,              // `body` is the answer.
    condition_failed,  // Nothing was written; `body` has the old item, if there was one.
    cancelled,         // A transaction; nothing was written. `body` has the reasons.
    failed,            // `error` says whether anything was written.
  };
  Kind kind = Kind::failed;
  Json body;
  Error error{ErrorCode::unavailable, {}};
  std::string type;  // What DynamoDB calls its refusal; empty if it did not refuse.
};

// Errors: `unavailable` if throttled, or in conflict with a transaction under way: to be sent
// again. `unknown` after an error of the service in the middle of it.
Reply read_reply(const Result<aws::Response>& response);

// A reading has no outcome to be in doubt about: `unknown` becomes `unavailable`.
Reply read_reply_to_reading(const Result<aws::Response>& response);

}  // namespace once::dynamodb

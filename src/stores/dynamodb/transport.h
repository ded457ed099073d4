// The way to DynamoDB, counted, and what its answers mean.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aws/client.h"
#include "aws/message.h"
#include "once/dynamodb_store.h"
#include "once/error.h"
#include "stores/dynamodb/attributes.h"

namespace once::dynamodb {

using Responses = std::vector<Result<aws::Response>>;

// Safe to share between threads.
class Transport {
 public:
  virtual ~Transport() = default;

  // One attempt each, all in flight at once. Errors: `unavailable`, certainly not performed;
  // `unknown`, sent and no reply.
  virtual Responses send(std::span<const aws::Request> requests, aws::Deadline deadline) = 0;

  // The server's time minus ours.
  virtual const ServerOffset& server_offset() const = 0;

  virtual DynamoDbCounts counts() const = 0;
  virtual StoreUnits units() const = 0;
};

// `call` is DynamoDB's name of the operation.
aws::Request request_of(const char* call, const Json& body);

Result<std::unique_ptr<Transport>> connect(const DynamoDbOptions& options);

// What DynamoDB's answer to one request means.
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

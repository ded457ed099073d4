// The way to DynamoDB, counted.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "aws/client.h"
#include "once/dynamodb_store.h"
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
  virtual Duration clock_offset() const = 0;

  // How wrong that may be; nothing if no answer told its time.
  virtual std::optional<Duration> clock_error() const = 0;

  virtual DynamoDbCounts counts() const = 0;
};

// `call` is DynamoDB's name of the operation.
aws::Request request_of(const char* call, const Json& body);

Result<std::unique_ptr<Transport>> connect(const DynamoDbOptions& options);

}  // namespace once::dynamodb

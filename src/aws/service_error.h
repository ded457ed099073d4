// What a service's refusal means to us.
#pragma once

#include <string>

#include "aws/message.h"
#include "once/error.h"

namespace once::aws {

struct ServiceError {
  std::string code;     // "ThrottlingException", without what stands before its '#'; "" if unnamed.
  std::string message;  // As the service put it.
};

// What an answer that is no success says, as JSON (DynamoDB) or XML (S3, SQS).
ServiceError service_error(const Response& response);

// The one place where a service's errors become ours, for answers whose status is 300 or more. What
// a caller expects (a failed condition, a missing object) it looks for first: here those are
// `invalid`.
Error error_of(const Response& response);

// The signature's time was refused: another one, by the server's clock, may do.
bool wants_other_time(const ServiceError& error);

// The keys were good once.
bool wants_newer_keys(const ServiceError& error);

}  // namespace once::aws

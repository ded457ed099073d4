// Translates a service's errors.
#pragma once

#include <string>

#include "aws/message.h"
#include "once/error.h"

namespace once::aws {

struct ServiceError {
  std::string code;     // "ThrottlingException", without the text before '#'; "" if unnamed.
  std::string message;  // As the service put it.
};

// The error in an answer, as JSON (DynamoDB) or XML (S3, SQS).
ServiceError service_error(const Response& response);

// The error for an answer whose status is 300 or more. Callers check for what they expect (a failed
// condition, a missing object) first: here those are `invalid`.
Error error_of(const Response& response);

// True if the signature's time was refused: one by the server's clock may be accepted.
bool wants_other_time(const ServiceError& error);

// True if the keys have expired.
bool wants_newer_keys(const ServiceError& error);

}  // namespace once::aws

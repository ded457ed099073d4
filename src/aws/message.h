// HTTP messages as the stores on Amazon's services see them, and the errors in them: no sockets, no
// signatures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"

namespace once::aws {

struct Header {
  std::string name;
  std::string value;

  friend bool operator==(const Header&, const Header&) = default;
};

struct Request {
  std::string method = "POST";
  std::string path = "/";       // Percent-encoded, as it goes out.
  std::string query;            // Percent-encoded, without the question mark.
  std::vector<Header> headers;  // Host, Content-Length and what signing adds are not among them.
  std::string body;
  bool repeatable = false;  // Safe to send again after an unknown outcome.
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
};

std::string lowered(std::string_view text);       // ASCII letters.
std::string_view trimmed(std::string_view text);  // Without blanks and line ends around it.

// The value of the first header of that name in any case; "" without one.
std::string_view header_of(const std::vector<Header>& headers, std::string_view name);

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

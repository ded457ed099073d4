// Errors as application/problem+json (RFC 9457), with a stable code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/message.h"

namespace once::api {

enum class Code : std::uint8_t {
  invalid,
  busy,
  mismatch,
  fenced,
  precondition_failed,
  precondition_required,
  not_found,
  too_large,
  contended,
  other_kind,
  unauthorized,
  forbidden,
  unsupported,
  overloaded,
  unavailable,
  unknown,
  corrupt,
};

// An error under construction: what it is, and whatever else the caller should know.
class Problem {
 public:
  Problem(Code code, std::string_view detail);

  // In place of the code's own.
  Problem& status(int status);
  Problem& title(std::string_view title);  // Must outlive it.
  Problem& text(std::string_view name, std::string_view value);
  Problem& integer(std::string_view name, std::int64_t value);
  Problem& time(std::string_view name, Time value);
  Problem& header(std::string name, std::string value);
  Problem& retry_after(Duration wait);

  Response finish();

 private:
  Code code_;
  int status_;
  std::string_view title_;
  std::string detail_;
  JsonObject extra_;
  Headers headers_;
};

Response problem(Code code, std::string_view detail);

// The one place where a store's errors become the API's.
Response problem(const Error& error);

Response json_response(int status, std::string body);
Response replayed(Response response);  // With Idempotent-Replayed.

}  // namespace once::api

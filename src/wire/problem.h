// Errors as application/problem+json (RFC 9457), with a stable code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/json.h"
#include "wire/message.h"

namespace once::wire {

// The code of a problem: an Outcome that is no success.
using Code = Outcome;

// Builds a problem: its code, and what else the caller should know.
class Problem {
 public:
  Problem(Code code, std::string_view detail);

  // Instead of the code's own.
  Problem& status(int status);
  Problem& title(std::string_view title);  // Must outlive it.
  Problem& text(std::string_view name, std::string_view value);
  Problem& text_or_null(std::string_view name, const std::optional<std::string>& value);
  Problem& integer(std::string_view name, std::int64_t value);
  Problem& raw(std::string_view name, std::string_view json);
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

// A mismatch of kinds rather than of contents: 409.
Problem other_kind(std::string_view detail);

// The one place where a store's errors become problems.
Response problem(const Error& error);

Response json_response(int status, std::string body);
Response replayed(Response response);  // With Idempotent-Replayed.

// The code of an answer; nothing if it is not one of our problems.
std::optional<Code> problem_code(const Response& response);

// The one place where a problem becomes an error again, by its code. An answer that is no problem
// of ours decides nothing, whatever its status: `unavailable` for a read, else `unknown`. Nothing
// for a success, and for a refusal that the call has an outcome for, such as 409 busy.
std::optional<Error> error_of(const Request& request, const Response& response);

}  // namespace once::wire

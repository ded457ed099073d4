#include "api/problem.h"

#include <algorithm>

namespace once::api {
namespace {

struct Known {
  int status;
  std::string_view code;
  std::string_view title;
};

// As the code is named, for those who count.
Outcome outcome_of(Code code) {
  switch (code) {
    case Code::invalid: return Outcome::invalid;
    case Code::busy: return Outcome::busy;
    case Code::mismatch:
    case Code::other_kind: return Outcome::mismatch;
    case Code::fenced: return Outcome::fenced;
    case Code::precondition_failed: return Outcome::precondition_failed;
    case Code::precondition_required: return Outcome::precondition_required;
    case Code::not_found: return Outcome::not_found;
    case Code::too_large: return Outcome::too_large;
    case Code::contended: return Outcome::contended;
    case Code::unauthorized: return Outcome::unauthorized;
    case Code::forbidden: return Outcome::forbidden;
    case Code::unsupported: return Outcome::unsupported;
    case Code::overloaded: return Outcome::overloaded;
    case Code::unavailable: return Outcome::unavailable;
    case Code::unknown: return Outcome::unknown;
    case Code::corrupt: return Outcome::corrupt;
  }
  return Outcome::unknown;
}

Known known(Code code) {
  switch (code) {
    case Code::invalid: return {400, "invalid", "The request cannot be understood"};
    case Code::busy: return {409, "busy", "Another holder has it"};
    case Code::mismatch: return {422, "mismatch", "The same name with another content"};
    case Code::fenced: return {412, "fenced", "The claim is not this ticket's any more"};
    case Code::precondition_failed:
      return {412, "precondition_failed", "A condition does not hold"};
    case Code::precondition_required:
      return {428, "precondition_required", "A condition is required"};
    case Code::not_found: return {404, "not_found", "There is nothing of this name"};
    case Code::too_large: return {413, "too_large", "Too large"};
    case Code::contended: return {409, "contended", "Others were always faster"};
    case Code::other_kind: return {409, "mismatch", "It is of another kind"};
    case Code::unauthorized: return {401, "unauthorized", "A token is required"};
    case Code::forbidden: return {403, "forbidden", "Not allowed"};
    case Code::unsupported: return {501, "unsupported", "This store cannot do it"};
    case Code::overloaded: return {503, "overloaded", "Too much at once"};
    case Code::unavailable: return {503, "unavailable", "The store cannot be reached"};
    case Code::unknown: return {500, "unknown", "It may have happened, or may not"};
    case Code::corrupt: return {500, "corrupt", "Stored bytes fail their checks"};
  }
  return {500, "unknown", ""};
}

Code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid: return Code::invalid;
    case ErrorCode::too_large: return Code::too_large;
    case ErrorCode::denied: return Code::forbidden;
    case ErrorCode::unavailable: return Code::unavailable;
    case ErrorCode::unknown: return Code::unknown;
    case ErrorCode::unsupported: return Code::unsupported;
    case ErrorCode::corrupt: return Code::corrupt;
  }
  return Code::unknown;
}

}  // namespace

Problem::Problem(Code code, std::string_view detail)
    : code_(code), status_(known(code).status), title_(known(code).title), detail_(detail) {}

Problem& Problem::status(int status) {
  status_ = status;
  return *this;
}

Problem& Problem::title(std::string_view title) {
  title_ = title;
  return *this;
}

Problem& Problem::text(std::string_view name, std::string_view value) {
  extra_.text(name, value);
  return *this;
}

Problem& Problem::integer(std::string_view name, std::int64_t value) {
  extra_.integer(name, value);
  return *this;
}

Problem& Problem::time(std::string_view name, Time value) {
  extra_.time(name, value);
  return *this;
}

Problem& Problem::header(std::string name, std::string value) {
  headers_.add(std::move(name), std::move(value));
  return *this;
}

Problem& Problem::retry_after(Duration wait) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::max(wait, Duration::zero()));
  return header("Retry-After", std::to_string(std::max<std::int64_t>(1, seconds.count())));
}

Response Problem::finish() {
  JsonObject body;
  body.integer("status", status_)
      .text("title", title_)
      .text("detail", detail_)
      .text("code", known(code_).code);
  std::string text = body.finish();
  const std::string extra = extra_.finish();
  if (extra.size() > 2) {
    text.back() = ',';
    text.append(extra, 1);
  }
  headers_.add("Content-Type", "application/problem+json");
  return {status_, std::move(headers_), std::move(text), {.outcome = outcome_of(code_)}};
}

Response problem(Code code, std::string_view detail) {
  Problem answer(code, detail);
  if (known(code).status == 503) answer.retry_after(std::chrono::seconds(1));
  return answer.finish();
}

Response problem(const Error& error) { return problem(code_of(error.code), error.message); }

Response json_response(int status, std::string body) {
  Response response{status, {}, std::move(body)};
  response.headers.add("Content-Type", "application/json");
  return response;
}

Response replayed(Response response) {
  response.headers.add("Idempotent-Replayed", "true");
  return response;
}

}  // namespace once::api

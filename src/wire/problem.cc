#include "wire/problem.h"

#include <algorithm>
#include <array>

namespace once::wire {
namespace {

constexpr std::string_view kProblemType = "application/problem+json";

struct Known {
  Code code;
  int status;
  std::string_view title;
};

constexpr std::array kKnown = {
    Known{Code::invalid, 400, "The request cannot be understood"},
    Known{Code::busy, 409, "Another holder has it"},
    Known{Code::mismatch, 422, "The same name with another content"},
    Known{Code::fenced, 412, "The claim is not this ticket's any more"},
    Known{Code::precondition_failed, 412, "A condition does not hold"},
    Known{Code::precondition_required, 428, "A condition is required"},
    Known{Code::not_found, 404, "There is nothing of this name"},
    Known{Code::too_large, 413, "Too large"},
    Known{Code::contended, 409, "Others were always faster"},
    Known{Code::closed, 409, "The log is closed"},
    Known{Code::unauthorized, 401, "A token is required"},
    Known{Code::forbidden, 403, "Not allowed"},
    Known{Code::unsupported, 501, "This store cannot do it"},
    Known{Code::overloaded, 503, "Too much at once"},
    Known{Code::unavailable, 503, "The store cannot be reached"},
    Known{Code::unknown, 500, "It may have happened, or may not"},
    Known{Code::corrupt, 500, "Stored bytes fail their checks"},
};

// An Outcome that no problem has is a bug here: it is answered as `unknown`.
Known known(Code code) {
  const auto* const found = std::ranges::find(kKnown, code, &Known::code);
  return found == kKnown.end() ? Known{Code::unknown, 500, ""} : *found;
}

std::string text_in(const Response& response, std::string_view name) {
  const Result<Json> body = parse_json(response.body);
  std::string_view text;
  if (!body || (*body)[name].get(text) != simdjson::SUCCESS) return "";
  return std::string(text);
}

// The error of a code that is none of a call's outcomes.
std::optional<ErrorCode> error_of(Code code) {
  switch (code) {
    case Code::invalid:
    case Code::precondition_required: return ErrorCode::invalid;
    case Code::too_large: return ErrorCode::too_large;
    case Code::unauthorized:
    case Code::forbidden: return ErrorCode::denied;
    case Code::unsupported: return ErrorCode::unsupported;
    case Code::overloaded:
    case Code::unavailable: return ErrorCode::unavailable;
    case Code::unknown: return ErrorCode::unknown;
    case Code::corrupt: return ErrorCode::corrupt;
    default: return std::nullopt;
  }
}

// A gateway answered, or a server of another kind. Its refusal may also be of a repeat that it made
// by itself, so whether the request was carried out cannot be known (docs/hazards.md#h39).
Error foreign_answer(const Request& request, int status) {
  const bool only_reads = request.method == "GET" || request.method == "HEAD";
  return {only_reads ? ErrorCode::unavailable : ErrorCode::unknown,
          "the answer " + std::to_string(status) + " did not come from a server of Once"};
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

Problem& Problem::text_or_null(std::string_view name, const std::optional<std::string>& value) {
  return value ? text(name, *value) : raw(name, "null");
}

Problem& Problem::raw(std::string_view name, std::string_view json) {
  extra_.raw(name, json);
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
      .text("code", name_of(known(code_).code));
  std::string text = body.finish();
  const std::string extra = extra_.finish();
  if (extra.size() > 2) {
    text.back() = ',';
    text.append(extra, 1);
  }
  headers_.add("Content-Type", std::string(kProblemType));
  return {status_, std::move(headers_), std::move(text), {.outcome = code_}};
}

Response problem(Code code, std::string_view detail) {
  Problem answer(code, detail);
  if (known(code).status == 503) answer.retry_after(std::chrono::seconds(1));
  return answer.finish();
}

Problem other_kind(std::string_view detail) {
  Problem answer(Code::mismatch, detail);
  answer.status(409).title("It is of another kind");
  return answer;
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

std::optional<Code> problem_code(const Response& response) {
  if (response.status < 400 || media_type(response.headers) != kProblemType) return std::nullopt;
  const std::string code = text_in(response, "code");
  const auto* const found =
      std::ranges::find(kKnown, code, [](const Known& known) { return name_of(known.code); });
  return found == kKnown.end() ? std::nullopt : std::optional(found->code);
}

std::optional<Error> error_of(const Request& request, const Response& response) {
  if (response.status >= 200 && response.status < 300) return std::nullopt;
  const std::optional<Code> code = problem_code(response);
  if (!code) return foreign_answer(request, response.status);
  // A patch that does not apply to what is there. A request that is wrong by itself is 400.
  if (*code == Code::invalid && response.status == 422) return std::nullopt;
  const std::optional<ErrorCode> error = error_of(*code);
  return error ? std::optional(Error{*error, text_in(response, "detail")}) : std::nullopt;
}

}  // namespace once::wire

#include "cli/answer.h"

#include <algorithm>
#include <array>
#include <iostream>

#include "cli/terminal.h"

namespace once::cli {
namespace {

struct Exit {
  std::string_view code;
  int exit;
};

// The codes that are neither usage nor a refusal.
constexpr std::array kExits = {
    Exit{"invalid", kUsage},   Exit{"precondition_required", kUsage},
    Exit{"busy", kBusy},       Exit{"contended", kBusy},
    Exit{"overloaded", kBusy}, Exit{"unavailable", kUnavailable},
    Exit{"unknown", kUnknown}, Exit{"corrupt", kUnavailable},
};

// What a problem says beyond its detail: "owner: me, lease until: ...".
std::string extras_of(api::Json problem) {
  constexpr std::array<std::string_view, 5> kUsual = {"status", "title", "detail", "code",
                                                      "request"};  // The detail has it, too.
  std::string extras;
  simdjson::dom::object members;
  if (problem.get(members) != simdjson::SUCCESS) return extras;
  for (const auto& [name, value] : members) {
    const std::string text = shown(value);
    if (text.empty() || std::ranges::find(kUsual, name) != kUsual.end()) continue;
    std::string label(name);
    std::ranges::replace(label, '_', ' ');
    extras.append(extras.empty() ? "" : ", ").append(label).append(": ").append(text);
  }
  return extras;
}

std::string_view unquoted(std::string_view etag) {
  const bool quoted = etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"');
  return quoted ? etag.substr(1, etag.size() - 2) : etag;
}

std::string in_words(const api::Response& problem) {
  const Result<api::Json> body = api::parse_json(problem.body);
  if (!body || member(*body, "detail").empty()) {
    return "the server answered " + std::to_string(problem.status);
  }
  std::string extras = extras_of(*body);
  const auto etag = problem.headers.find("ETag");
  if (etag && member(*body, "current").empty()) {
    extras.append(extras.empty() ? "etag: " : ", etag: ").append(unquoted(*etag));
  }
  return member(*body, "detail") + (extras.empty() ? "" : " (" + extras + ")");
}

int print_field(const Invocation& invocation, const api::Response& answer,
                const std::string& name) {
  const Result<api::Json> body = api::parse_json(answer.body);
  api::Json value;
  if (!body || body->at_key(name).get(value) != simdjson::SUCCESS) {
    return print_error(invocation, {ErrorCode::denied, "the answer has no field " + name});
  }
  std::string_view text;
  std::cout << (value.get(text) == simdjson::SUCCESS ? std::string(text) : api::to_line(value))
            << '\n';
  return kDone;
}

}  // namespace

int exit_code(const Error& error) {
  switch (error.code) {
    case ErrorCode::invalid: return kUsage;
    case ErrorCode::too_large:
    case ErrorCode::denied:
    case ErrorCode::unsupported: return kRefused;
    case ErrorCode::unknown: return kUnknown;
    case ErrorCode::unavailable:
    case ErrorCode::corrupt: return kUnavailable;
  }
  return kUnavailable;
}

int exit_code(const api::Response& response) {
  if (response.status < 400) return kDone;
  if (response.status == 422) return kRefused;  // Valid, but not for the current state.
  const auto found = std::ranges::find(kExits, field_of(response, "code"), &Exit::code);
  if (found != kExits.end()) return found->exit;
  return response.status < 500 || response.status == 501 ? kRefused : kUnavailable;
}

int print_error(const Invocation& invocation, const Error& error) {
  if (error.code == ErrorCode::invalid) return refuse_usage(invocation.name(), error.message);
  std::cerr << "once " << invocation.name() << ": " << error.message << '\n';
  return exit_code(error);
}

int print_error(const Invocation& invocation, const api::Response& problem) {
  if (invocation.flag("json")) print_line(problem.body);
  const int exit = exit_code(problem);
  if (exit == kUsage) return refuse_usage(invocation.name(), in_words(problem));
  std::cerr << "once " << invocation.name() << ": " << in_words(problem) << '\n';
  return exit;
}

void print_line(std::string_view json) {
  if (!json.empty()) std::cout << json << '\n';
}

int print_answer(const Invocation& invocation, const Result<api::Response>& answer,
                 const Show& show) {
  if (!answer) return print_error(invocation, answer.error());
  if (answer->status >= 400) return print_error(invocation, *answer);
  if (invocation.flag("json")) {
    print_line(answer->body);
    return kDone;
  }
  if (const auto field = invocation.option("field"))
    return print_field(invocation, *answer, *field);
  const Result<api::Json> body = api::parse_json(answer->body.empty() ? "null" : answer->body);
  if (!body) return print_error(invocation, {ErrorCode::corrupt, "the answer is not JSON"});
  show(*body);
  return kDone;
}

bool proceeds(const Invocation& invocation, const Result<api::Response>& answer) {
  if (invocation.option("if-store-down") != "proceed") return false;
  if (!answer) return is_transient(answer);
  const std::string code = field_of(*answer, "code");
  return answer->status >= 500 && (code == "unavailable" || code == "unknown");
}

std::string field_of(const api::Response& response, std::string_view name) {
  const Result<api::Json> body = api::parse_json(response.body);
  return body ? member(*body, name) : "";
}

}  // namespace once::cli

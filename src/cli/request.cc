#include "cli/request.h"

#include <utility>

#include "base/encoding.h"
#include "cli/answer.h"
#include "cli/terminal.h"
#include "once/entropy.h"
#include "wire/text.h"

namespace once::cli {

std::string path_to(std::string_view noun, std::string_view name, std::string_view action) {
  std::string path = "/v1/";
  path.append(noun).append("/").append(percent_encode(name));
  if (!action.empty()) path.append("/").append(action);
  return path;
}

api::Request request_for(const Invocation& invocation, std::string method, std::string target,
                         std::string body) {
  api::Request request{std::move(method), std::move(target), {}, std::move(body)};
  if (auto name_space = invocation.option("namespace")) {
    request.headers.add("Once-Namespace", std::move(*name_space));
  }
  return request;
}

std::string query_of(const Invocation& invocation,
                     std::initializer_list<std::string_view> options) {
  std::string query;
  for (const std::string_view name : options) {
    const auto value = invocation.option(name);
    if (!value) continue;
    query += query.empty() ? '?' : '&';
    query.append(name).append("=").append(percent_encode(*value));
  }
  return query;
}

void add_texts(api::JsonObject& body, const Invocation& invocation,
               std::initializer_list<std::string_view> options) {
  for (const std::string_view name : options) {
    if (const auto value = invocation.option(name)) body.text(name, *value);
  }
}

void add_durations(api::JsonObject& body, const Invocation& invocation,
                   std::initializer_list<std::string_view> options) {
  for (const std::string_view name : options) {
    if (const auto value = invocation.option(name)) body.raw(name, json_or_text(*value));
  }
}

int write_and_print(const Invocation& invocation, const api::Request& request,
                    const WriteOptions& options) {
  return print_answer(invocation, open_target(invocation)->write(request, options), print_members);
}

Result<RequestId> RequestId::of(const Invocation& invocation, std::string_view also) {
  std::optional<std::string> id = invocation.option("request");
  const auto other = also.empty() ? std::nullopt : invocation.option(also);
  if (id && other) {
    return failure(ErrorCode::invalid, "--request and --" + std::string(also) + " are the same");
  }
  if (!id) id = other;
  if (id && !id->empty()) return RequestId(*id, true);
  Entropy& entropy = system_entropy();
  return RequestId("cli-" + api::hex_text(entropy.random()) + api::hex_text(entropy.random()),
                   false);
}

std::string json_or_text(std::string_view written) {
  const Result<api::Json> json = api::parse_json(written);
  return json ? api::to_line(*json) : api::json_text(written);
}

}  // namespace once::cli

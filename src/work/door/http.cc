#include "work/door/http.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/uri.h"
#include "client/http_client.h"
#include "wire/effects.h"
#include "work/door/command.h"

namespace once::work {
namespace {

bool printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 127; });
}

api::Request request_of(const std::string& target, const Task& task) {
  api::Request request{"POST", target, {}, task.message.body};
  const auto add = [&](std::string name, const std::string& value) {
    if (!value.empty() && printable(value)) request.headers.add(std::move(name), value);
  };
  add("Content-Type", task.message.content_type);
  add("Idempotency-Key", sha256_hex(task.attempt.key()));
  add("Once-Fence", std::to_string(task.attempt.fence()));
  add("Once-Attempt", std::to_string(task.attempt.number()));
  add("Once-Message-Id", task.message.id);
  // An event in binary mode stays one.
  for (const auto& [name, value] : task.message.attributes) {
    if (name.starts_with("ce-") && printable(name)) add(name, value);
  }
  return request;
}

Result<Effects> effects_in(const api::Response& answer) {
  if (answer.status < 200 || answer.status >= 300) {
    return failure(ErrorCode::unavailable, "the handler answered " + std::to_string(answer.status));
  }
  if (api::media_type(answer.headers) != kEffectsType) return Effects();
  Result<Effects> effects = api::decode_effects(answer.body);
  if (effects) return effects;
  return failure(ErrorCode::invalid, "its effects are none: " + effects.error().message);
}

}  // namespace

Result<Handler> http_handler(const std::string& url, Duration timeout, client::SharedTls tls) {
  const std::optional<HttpEndpoint> parsed = parse_endpoint(url);
  if (!parsed)
    return failure(ErrorCode::invalid, "a handler's URL is http://host:port/path, or https://");
  return [to = *parsed, timeout, tls = std::move(tls)](Task& task) -> Result<Effects> {
    client::HttpClient client(
        to.server,
        client::Forwarding{.max_answer = kMaxEffectsText, .stopped = task.stopped, .tls = tls});
    const Result<api::Response> answer = client.call(request_of(to.target, task), timeout);
    if (!answer) return std::unexpected(answer.error());
    return effects_in(*answer);
  };
}

}  // namespace once::work

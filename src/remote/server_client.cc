#include "remote/server_client.h"

#include <optional>
#include <utility>

#include "base/names.h"
#include "wire/problem.h"
#include "wire/text.h"

namespace once::remote {
namespace {

constexpr Duration kOnTheWay = std::chrono::seconds(5);  // Beyond what the server may take.
constexpr std::size_t kMaxIdle = 64;                     // Connections that are kept open.

}  // namespace

ServerClient::ServerClient(std::string url, std::string token, std::string name_space, Clock& clock,
                           Entropy& entropy, std::function<bool()> still_there, wire::DataForm form,
                           client::ServerTrust trust)
    : url_(std::move(url)),
      token_(std::move(token)),
      name_space_(std::move(name_space)),
      clock_(clock),
      entropy_(entropy),
      still_there_(std::move(still_there)),
      form_(form),
      trust_(std::move(trust)) {}

// Each call has a connection of its own while it lasts.
Result<wire::Response> ServerClient::send(const wire::Request& request, Duration timeout) {
  std::unique_ptr<client::HttpClient> client;
  {
    const Lock lock(mutex_);
    if (!idle_.empty()) {
      client = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (client == nullptr) client = std::make_unique<client::HttpClient>(url_, token_, trust_);
  Result<wire::Response> answer = client->call(request, timeout);
  const Lock lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(client));
  return answer;
}

Result<CallResult> ServerClient::call(const wire::Request& request, Repeat repeat, Duration within,
                                      Duration waits) {
  if (within <= Duration::zero()) {
    return failure(ErrorCode::unavailable, "no time is left to ask the server");
  }
  // A server gives up by itself after kAttemptLife, and its answer then tells more than ours.
  const RepeatOptions options{.repeat = repeat,
                              .within = within,
                              .grace = within < kAttemptLife ? Duration::zero() : kOnTheWay,
                              .waits = waits,
                              .still_there = still_there_};
  Result<CallResult> called = call_until_answered(
      request, options, clock_, entropy_, [&](Duration timeout) { return send(request, timeout); });
  if (!called) return called;
  if (std::optional<Error> error = wire::error_of(request, called->response)) {
    return std::unexpected(std::move(*error));
  }
  return called;
}

Result<wire::Request> ServerClient::request(std::string method, std::string target) const {
  wire::Request request{std::move(method), std::move(target), {}, ""};
  if (!name_space_.empty()) {
    if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
    request.headers.add("Once-Namespace", name_space_);
  }
  if (form_ == wire::DataForm::exact) {
    request.headers.add(std::string(wire::kDataHeader), std::string(wire::kExactData));
  }
  return request;
}

Result<wire::Request> ServerClient::request(std::string method, std::string_view noun,
                                            std::string_view name, std::string_view action) const {
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return request(std::move(method), wire::path_to(noun, name, action));
}

std::string ServerClient::new_id() {
  return "lib-" + wire::hex_text(entropy_.random()) + wire::hex_text(entropy_.random());
}

}  // namespace once::remote

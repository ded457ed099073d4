#include "events/forwarder.h"

#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/encoding.h"
#include "base/uri.h"

namespace once::events {
namespace {

// Only the status of a handler's answer matters, but its body must end somewhere.
constexpr std::size_t kMaxAnswer = 16U << 20;

constexpr std::size_t kMaxIdle = 16;  // Connections kept to one server.

// Equal for all deliveries of one event, and different for every other event.
std::string idempotency_key(const EventWork& work) {
  std::string name;
  append_part(name, work.name_space);
  return sha256_hex(name.append(work.claim));
}

Request request_of(const EventWork& work, std::string target, const Claimed* claimed,
                   const ForwardContext& context) {
  Request request{"POST", std::move(target), work.event.headers, work.event.body};
  const auto add = [&](std::string name, const std::string& value) {
    if (!value.empty()) request.headers.add(std::move(name), value);
  };
  add("Idempotency-Key", idempotency_key(work));
  if (claimed != nullptr) {
    add("Once-Fence", std::to_string(claimed->fence));
    add("Once-Attempt", std::to_string(claimed->attempt));
  }
  add("traceparent", context.traceparent);
  add("tracestate", context.tracestate);
  add("X-Request-Id", context.request_id);
  return request;
}

}  // namespace

Forwarder::Client Forwarder::take(const std::string& server) {
  {
    const Lock lock(mutex_);
    std::vector<Client>& idle = idle_[server];
    if (!idle.empty()) {
      Client client = std::move(idle.back());
      idle.pop_back();
      return client;
    }
  }
  const client::Forwarding forwarding{
      .max_answer = kMaxAnswer, .stopped = stop_.get_token(), .tls = tls_};
  return std::make_unique<client::HttpClient>(server, forwarding);
}

void Forwarder::give_back(const std::string& server, Client client) {
  const Lock lock(mutex_);
  std::vector<Client>& idle = idle_[server];
  if (idle.size() < kMaxIdle) idle.push_back(std::move(client));
}

Result<Response> Forwarder::send(const EventWork& work, const Claimed* claimed,
                                 const ForwardContext& context) {
  std::optional<HttpEndpoint> url = parse_endpoint(work.route.forward);
  if (!url) return failure(ErrorCode::invalid, "the route's forward is no URL");
  const Request request = request_of(work, std::move(url->target), claimed, context);
  Client client = take(url->server);
  Result<Response> answer = client->call(request, work.route.timeout);
  if (answer) give_back(url->server, std::move(client));
  return answer;
}

}  // namespace once::events

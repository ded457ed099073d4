#include "events/forwarder.h"

#include <optional>
#include <utility>

#include "api/digest.h"

namespace once::events {
namespace {

// Nobody reads what a handler answers beyond its status, but it is not to be endless.
constexpr std::size_t kMaxAnswer = 16U << 20;

constexpr std::size_t kMaxIdle = 16;  // Connections kept to one server.

// The same for every delivery of the event, and for no other event.
std::string idempotency_key(const api::EventWork& work) {
  std::string name;
  api::append_part(name, work.name_space);
  return api::digest_of(name.append(work.claim));
}

api::Request request_of(const api::EventWork& work, std::string target, const Claimed* claimed,
                        const Hop& hop) {
  api::Request request{"POST", std::move(target), work.event.headers, work.event.body};
  const auto add = [&](std::string name, const std::string& value) {
    if (!value.empty()) request.headers.add(std::move(name), value);
  };
  add("Idempotency-Key", idempotency_key(work));
  if (claimed != nullptr) {
    add("Once-Fence", std::to_string(claimed->fence));
    add("Once-Attempt", std::to_string(claimed->attempt));
  }
  add("traceparent", hop.traceparent);
  add("tracestate", hop.tracestate);
  add("X-Request-Id", hop.request_id);
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
  const client::Forwarding forwarding{.max_answer = kMaxAnswer, .stopped = stop_.get_token()};
  return std::make_unique<client::HttpClient>(server, forwarding);
}

void Forwarder::give_back(const std::string& server, Client client) {
  const Lock lock(mutex_);
  std::vector<Client>& idle = idle_[server];
  if (idle.size() < kMaxIdle) idle.push_back(std::move(client));
}

Result<api::Response> Forwarder::send(const api::EventWork& work, const Claimed* claimed,
                                      const Hop& hop) {
  std::optional<api::ForwardUrl> url = api::parse_forward(work.route.forward);
  if (!url) return failure(ErrorCode::invalid, "the route's forward is no URL");
  const api::Request request = request_of(work, std::move(url->target), claimed, hop);
  Client client = take(url->server);
  Result<api::Response> answer = client->call(request, work.route.timeout);
  if (answer) give_back(url->server, std::move(client));
  return answer;
}

}  // namespace once::events

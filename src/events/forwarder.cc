#include "events/forwarder.h"

#include <utility>

#include "api/digest.h"

namespace once::events {
namespace {

// Nobody reads what a handler answers beyond its status, but it is not to be endless.
constexpr std::size_t kMaxAnswer = 16U << 20;

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

client::HttpClient& Forwarder::client_of(const std::string& server) {
  auto& client = clients_[server];
  if (!client) {
    const client::Forwarding forwarding{.max_answer = kMaxAnswer, .stopped = stopped_};
    client = std::make_unique<client::HttpClient>(server, forwarding);
  }
  return *client;
}

Result<api::Response> Forwarder::send(const api::EventWork& work, const Claimed* claimed,
                                      const Hop& hop) {
  std::optional<api::ForwardUrl> url = api::parse_forward(work.route.forward);
  if (!url) return failure(ErrorCode::invalid, "the route's forward is no URL");
  const api::Request request = request_of(work, std::move(url->target), claimed, hop);
  return client_of(url->server).call(request, work.route.timeout);
}

}  // namespace once::events

#include "server/responder.h"

#include <memory>
#include <utility>

#include "api/call.h"
#include "api/problem.h"

namespace once::server {

std::optional<api::Response> Responder::respond(api::Request request, Home& home, Done later) {
  const bool appends = request.method == "POST" && (request.target.starts_with("/v1/logs/") ||
                                                    request.target.starts_with("/v1/commit"));
  const auto asked = std::make_shared<const Asked>(observer_.asked(request));
  auto events = api::event_request_of(service_, request);
  if (!events) {
    observer_.answered(*asked, events.error());
    return std::move(events.error());
  }
  if (*events) {
    receive(std::move(**events), request, asked, std::move(later));
    return std::nullopt;
  }
  api::Answer answer = service_.respond(request);
  if (auto* ready = std::get_if<api::Response>(&answer)) {
    observer_.answered(*asked, *ready);
    return std::move(*ready);
  }
  const Duration patience = answer.waits + work_;
  const Result<void> started = driver_.start<api::Response>(
      std::get<Plan<api::Response>>(std::move(answer)),
      [this, appends, asked, later = std::move(later)](Result<api::Response> outcome) mutable {
        if (appends && outcome && outcome->status < 300) hub_.hint_all();
        api::Response response =
            outcome ? std::move(*outcome) : api::Service::failed(outcome.error());
        observer_.answered(*asked, response);
        later(std::move(response));
      },
      patience, &home);
  if (started) return std::nullopt;
  api::Response response = api::problem(api::Code::overloaded, started.error().message);
  observer_.answered(*asked, response);
  return response;
}

std::optional<api::Response> Responder::refusal(const api::Request& request) {
  auto resolved = api::resolve(service_, request);
  if (resolved) return std::nullopt;
  return std::move(resolved.error());
}

void Responder::receive(api::EventRequest events, const api::Request& request,
                        std::shared_ptr<const Asked> asked, Done later) {
  events::Hop hop{.request_id = asked->request_id};
  if (asked->trace) {
    Trace next = *asked->trace;
    if (!asked->span_id.empty()) next.parent_id = asked->span_id;
    hop.traceparent = format_traceparent(next);
    hop.tracestate = request.headers.find("tracestate").value_or("");
  }
  door_.receive(
      std::move(events), std::move(hop),
      [this, asked = std::move(asked), later = std::move(later)](api::Response response) mutable {
        if (response.status < 300) hub_.hint_all();
        observer_.answered(*asked, response);
        later(std::move(response));
      });
}

std::expected<std::optional<api::Following>, api::Response> Responder::following(
    const api::Request& request) {
  auto following = api::following_of(service_, request);
  if (!following) observer_.answered(observer_.asked(request), following.error());
  return following;
}

}  // namespace once::server

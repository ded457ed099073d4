#include "server/responder.h"

#include <memory>
#include <utility>

#include "api/problem.h"

namespace once::server {

std::optional<api::Response> Responder::respond(api::Request request, Home& home, Done later) {
  const bool appends = request.method == "POST" && (request.target.starts_with("/v1/logs/") ||
                                                    request.target.starts_with("/v1/commit"));
  const auto asked = std::make_shared<const Asked>(observer_.asked(request));
  api::Answer answer = service_.respond(request);
  if (auto* ready = std::get_if<api::Response>(&answer)) {
    observer_.answered(*asked, *ready);
    return std::move(*ready);
  }
  const Duration patience = answer.patience;
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

std::expected<std::optional<api::Following>, api::Response> Responder::following(
    const api::Request& request) {
  auto following = api::following_of(service_, request);
  if (!following) observer_.answered(observer_.asked(request), following.error());
  return following;
}

}  // namespace once::server

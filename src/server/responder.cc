#include "server/responder.h"

#include <utility>

#include "api/problem.h"

namespace once::server {

std::optional<api::Response> Responder::respond(api::Request request, Done later) {
  const bool appends = request.method == "POST" && (request.target.starts_with("/v1/logs/") ||
                                                    request.target.starts_with("/v1/commit"));
  api::Answer answer = service_.respond(request);
  if (auto* ready = std::get_if<api::Response>(&answer)) return std::move(*ready);
  const Result<void> started = driver_.start<api::Response>(
      std::get<Plan<api::Response>>(std::move(answer)),
      [this, appends, later = std::move(later)](Result<api::Response> response) mutable {
        if (appends && response && response->status < 300) hub_.hint_all();
        later(response ? std::move(*response) : api::Service::failed(response.error()));
      },
      api::kRequestPatience);
  if (started) return std::nullopt;
  return api::problem(api::Code::overloaded, started.error().message);
}

}  // namespace once::server

#include "api/event_requests.h"

#include <algorithm>
#include <utility>

#include "api/event_answers.h"

namespace once::api {
namespace {

SharedWork work_of(Call& call, CloudEvent event) {
  const ServiceOptions& options = call.service.options();
  EventWork work;
  const EventRoute* const route = route_for(options.events.routes, event.type);
  if (route != nullptr) work.route = *route;
  work.claim = event_claim(event.source, event.id);
  work.event = std::move(event);
  work.name_space = call.name_space;
  work.if_store_down = options.events.if_store_down;
  work.hot = &call.service.hot();
  return std::make_shared<const EventWork>(std::move(work));
}

EventPart part_of(Call& call, ParsedEvent event) {
  if (!event) return invalid_event(event.error());
  return work_of(call, std::move(*event));
}

bool forwards(const EventPart& part) {
  const auto* const work = std::get_if<SharedWork>(&part);
  return work != nullptr && (*work)->forwards();
}

// One after the other, so that an event that is there twice is a duplicate the second time.
Plan<Response> all_processed(EventRequest request) {
  std::vector<Response> answers;
  for (EventPart& part : request.parts) {
    if (auto* answer = std::get_if<Response>(&part)) {
      answers.push_back(std::move(*answer));
      continue;
    }
    const SharedWork work = std::get<SharedWork>(part);
    const std::function<void()> unmeasured;
    Response answer = co_await processed(work, unmeasured);
    answers.push_back(std::move(answer));
  }
  if (request.batch) co_return batch_response(answers);
  co_return std::move(answers.front());
}

}  // namespace

std::expected<EventRequest, Response> event_request(Call& call) {
  auto found = events_in(call.request);
  if (!found) return std::unexpected(std::move(found.error()));
  EventRequest request{.batch = found->batch, .parts = {}};
  request.parts.reserve(found->events.size());
  for (ParsedEvent& event : found->events) {
    request.parts.push_back(part_of(call, std::move(event)));
  }
  return request;
}

std::expected<std::optional<EventRequest>, Response> event_request_of(Service& service,
                                                                      const Request& request) {
  if (request.method != "POST" || !request.target.starts_with("/v1/events")) return std::nullopt;
  auto resolved = resolve(service, request);
  if (!resolved) return std::unexpected(std::move(resolved.error()));
  if (resolved->route->handler != receive_events || !resolved->call.query.empty()) {
    return std::nullopt;
  }
  auto found = event_request(resolved->call);
  if (!found) return std::unexpected(std::move(found.error()));
  return std::move(*found);
}

// For those who have the API without a server, which is who forwards.
Answer receive_events(Call& call) {
  auto request = event_request(call);
  if (!request) return std::move(request.error());
  if (std::ranges::any_of(request->parts, forwards)) {
    return problem(Code::unsupported, "forwarding is for 'once serve'");
  }
  return all_processed(std::move(*request));
}

}  // namespace once::api

#include "events/event_request.h"

#include <algorithm>
#include <utility>

#include "events/answers.h"

namespace once::events {
namespace {

using api::Code;
using api::problem;

SharedWork work_of(const api::Call& call, const EventOptions& options, CloudEvent event) {
  EventWork work;
  const EventRoute* const route = route_for(options.routes, event.type);
  if (route != nullptr) work.route = *route;
  work.claim = event_claim(event.source, event.id);
  work.event = std::move(event);
  work.name_space = call.name_space;
  work.if_store_down = options.if_store_down;
  work.hot = &call.service.hot();
  return std::make_shared<const EventWork>(std::move(work));
}

EventPart part_of(const api::Call& call, const EventOptions& options, ParsedEvent event) {
  if (!event) return invalid_event(event.error());
  return work_of(call, options, std::move(*event));
}

bool forwards(const EventPart& part) {
  const auto* const work = std::get_if<SharedWork>(&part);
  return work != nullptr && (*work)->forwards();
}

// One after the other, so that the second of two equal events is a duplicate.
Plan<Response> process_all(EventRequest request) {
  std::vector<Response> answers;
  for (EventPart& part : request.parts) {
    if (auto* answer = std::get_if<Response>(&part)) {
      answers.push_back(std::move(*answer));
      continue;
    }
    const SharedWork work = std::get<SharedWork>(part);
    const std::function<void()> unmeasured;
    Response answer = co_await process(work, unmeasured);
    answers.push_back(std::move(answer));
  }
  if (request.batch) co_return batch_response(answers);
  co_return std::move(answers.front());
}

}  // namespace

std::expected<EventRequest, Response> parse_event_request(const api::Call& call,
                                                          const EventOptions& options) {
  auto found = events_in(call.request);
  if (!found) return std::unexpected(std::move(found.error()));
  EventRequest request{.batch = found->batch, .parts = {}};
  request.parts.reserve(found->events.size());
  for (ParsedEvent& event : found->events) {
    request.parts.push_back(part_of(call, options, std::move(event)));
  }
  return request;
}

api::Answer PlannedEvents::receive(api::Call& call) {
  auto request = parse_event_request(call, options_);
  if (!request) return std::move(request.error());
  if (std::ranges::any_of(request->parts, forwards)) {
    return problem(Code::unsupported, "forwarding is for 'once serve'");
  }
  return process_all(std::move(*request));
}

}  // namespace once::events

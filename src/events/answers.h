// Answers to the sender of an event, each with the telemetry of that event.
#pragma once

#include <string_view>
#include <vector>

#include "events/event_plans.h"

namespace once::events {

// Adds the telemetry of an event whose claim was checked.
Response noted(Response response, const EventWork& work);

Response invalid_event(const BadEvent& bad);                    // 400
Response handled(const EventWork& work, std::int64_t attempt);  // 200 processed
Response duplicate(const EventWork& work, const Done& done);    // 200 skipped
Response in_flight(const EventWork& work, const Busy& busy, Time now);
Response overtaken(const EventWork& work);  // 409: another delivery took over the claim.
Response other_tally(const EventWork& work);
Response closed_log(const EventWork& work);  // 409: the tally of the route is not a count.
Response too_many(const EventWork& work);    // 503

// 200 processed, but without protection from duplicates. AllDone::no: nor was the event added to
// its log and tally.
enum class AllDone : std::uint8_t { no, yes };
Response unguarded(const EventWork& work, const Error& error, AllDone done);

// The store did not accept the outcome.
Response not_recorded(const EventWork& work, const Error& error, bool forwarded);

// The handler did not accept the event, or did not answer.
Response handler_refused(const EventWork& work, const Response& answer);
Response handler_lost(const EventWork& work, const Error& error);

// 200 with one status for each event, in order.
Response batch_response(const std::vector<Response>& answers);

}  // namespace once::events

// What the sender of an event is told. Each answer says whose event it is about, for those who
// count, and in which way.
#pragma once

#include <string_view>
#include <vector>

#include "api/event_work.h"
#include "api/problem.h"

namespace once::api {

// With what is counted of every event that was looked up.
Response noted(Response response, const EventWork& work);

Response invalid_event(const BadEvent& bad);                    // 400
Response handled(const EventWork& work, std::int64_t attempt);  // 200 processed
Response duplicate(const EventWork& work, const Done& done);    // 200 skipped
Response in_flight(const EventWork& work, const Busy& busy, Time now);
Response overtaken(const EventWork& work);    // 409: another delivery has the claim by now.
Response other_tally(const EventWork& work);  // 409: the route's tally is no count.
Response too_many(const EventWork& work);     // 503

// 200 processed, but without the promise. All but AllDone::yes also lacks its log or its tally.
enum class AllDone : std::uint8_t { no, yes };
Response unguarded(const EventWork& work, const Error& error, AllDone done);

// The store did not take the outcome.
Response not_recorded(const EventWork& work, const Error& error, bool forwarded);

// The handler did not take the event: what it answered, or why there is no answer.
Response handler_refused(const EventWork& work, const Response& answer);
Response handler_lost(const EventWork& work, const Error& error);

// 200 with one status for each event, in order.
Response batch_response(const std::vector<Response>& answers);

}  // namespace once::api

// What operators look for besides what is stored: namespaces, routes of events, the processes that
// work beside the server, and how it went of late.
#include <algorithm>
#include <set>

#include "api/call.h"
#include "once/documents.h"
#include "wire/listing.h"
#include "wire/worker_status.h"

namespace once::api {
namespace {

// Each is read for itself.
constexpr std::size_t kMostWorkers = 100;

// A caller of one namespace learns of no other.
std::set<std::string> names_for(const Call& call) {
  if (!call.may_see_server()) return {call.name_space};
  std::set<std::string> names = call.service.tenants().names();
  names.merge(call.service.tokens().namespaces());
  names.insert(call.service.options().name_space);
  return names;
}

std::string text_or_null(const std::string& text) {
  return text.empty() ? "null" : json_text(text);
}

std::string encode_route(const EventRouteReport& route) {
  const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  return JsonObject()
      .text("type", route.type)
      .raw("forward", text_or_null(route.forward))
      .raw("log", text_or_null(route.log))
      .raw("tally", text_or_null(route.tally))
      .integer("processed", count(route.processed))
      .integer("skipped", count(route.skipped))
      .integer("busy", count(route.busy))
      .integer("failed", count(route.failed))
      .finish();
}

// By primitive and outcome, without those that are 0.
std::string encode_outcomes(const std::vector<metrics::OutcomeCount>& outcomes) {
  JsonObject all;
  for (auto at = outcomes.begin(); at != outcomes.end();) {
    const Primitive primitive = at->primitive;
    JsonObject one;
    for (; at != outcomes.end() && at->primitive == primitive; ++at) {
      one.integer(name_of(at->outcome), static_cast<std::int64_t>(at->count));
    }
    all.raw(name_of(primitive), one.finish());
  }
  return all.finish();
}

template <class Length>
std::string seconds_text(Length length) {
  return wire::number_text(std::chrono::duration<double>(length).count());
}

std::string encode_slot(const metrics::HistorySlot& slot) {
  const auto or_null = [](const auto& length) { return length ? seconds_text(*length) : "null"; };
  return JsonObject()
      .time("at", slot.at)
      .raw("seconds", seconds_text(slot.length))
      .raw("p50_seconds", or_null(slot.p50))
      .raw("p99_seconds", or_null(slot.p99))
      .raw("outcomes", encode_outcomes(slot.outcomes))
      .finish();
}

Plan<Response> answer_list_workers(std::string name_space, Listing listing) {
  listing.prefix.insert(0, wire::kWorkerPrefix);
  const documents::DocumentPage page = co_await documents::list(name_space, std::move(listing));
  std::vector<std::string> workers;
  for (const documents::ListedDocument& listed : page.documents) {
    const Result<std::optional<documents::Document>> document =
        co_await attempt(documents::get(documents::document_key(name_space, listed.name)));
    if (!document || !*document) continue;
    Result<wire::WorkerStatus> status = wire::decode_worker_status((*document)->content.bytes);
    if (!status) continue;  // Any writer of the namespace may have put it there.
    status->id = listed.name.substr(wire::kWorkerPrefix.size());
    workers.push_back(wire::encode(*status));
  }
  JsonObject body;
  body.raw("workers", json_array(workers, [](const std::string& one) { return one; }));
  wire::add_cursor(body, page.cursor);
  co_return json_response(200, body.finish());
}

}  // namespace

Answer list_namespaces(Call& call) {
  const Result<Listing> listing = listing_of(call);
  if (!listing) return problem(listing.error());
  std::vector<std::string> page;
  std::string cursor;
  for (const std::string& name : names_for(call)) {
    const bool was_before = !listing->cursor.empty() && name <= listing->cursor;
    if (was_before || !name.starts_with(listing->prefix)) continue;
    if (page.size() == listing->limit) {
      cursor = page.back();
      break;
    }
    page.push_back(name);
  }
  JsonObject body;
  body.raw("namespaces", json_array(page, json_text));
  wire::add_cursor(body, cursor);
  return json_response(200, body.finish());
}

Answer list_workers(Call& call) {
  Result<Listing> listing = listing_of(call);
  if (!listing) return problem(listing.error());
  listing->limit = std::min(listing->limit, kMostWorkers);
  return answer_list_workers(call.name_space, std::move(*listing));
}

Answer list_event_routes(Call& call) {
  if (!call.may_see_server()) {
    return problem(Code::forbidden,
                   "routes are those of all namespaces, and this token is for one");
  }
  const EventReceiver* const receiver = call.service.event_receiver();
  const std::vector<EventRouteReport> routes =
      receiver != nullptr ? receiver->routes() : std::vector<EventRouteReport>();
  return json_response(200, JsonObject().raw("routes", json_array(routes, encode_route)).finish());
}

// It tells of the requests of all namespaces.
Answer show_history(Call& call) {
  if (!call.may_see_server()) {
    return problem(Code::forbidden,
                   "the history is that of all namespaces, and this token is for one");
  }
  const Result<std::optional<Time>> after = call.time("after");
  if (!after) return problem(after.error());
  const auto slots = call.service.history().slots(after->value_or(Time::min()));
  return json_response(200, JsonObject()
                                .time("time", call.service.options().clock->now())
                                .raw("every_seconds", seconds_text(metrics::History::kEvery))
                                .raw("samples", json_array(slots, encode_slot))
                                .finish());
}

}  // namespace once::api

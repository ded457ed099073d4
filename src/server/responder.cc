#include "server/responder.h"

#include <atomic>
#include <memory>
#include <utility>

#include "api/call.h"
#include "api/problem.h"

namespace once::server {
namespace {

// As if one event came after the other: claimed, forwarded when those who wait already were, and
// recorded.
Duration patience_for(const api::EventRequest& request, Duration work) {
  constexpr int kBefore = 4;
  Duration patience = work;
  for (const api::EventPart& part : request.parts) {
    const auto* event = std::get_if<api::SharedWork>(&part);
    if (event == nullptr) continue;
    patience += work;
    if ((*event)->forwards()) patience += work + (1 + kBefore) * (*event)->route.timeout;
  }
  return patience;
}

bool reads(const Asked& asked) { return asked.method == "GET" || asked.method == "HEAD"; }

}  // namespace

// Whoever is first answers: the store, or the clock.
class Responder::Underway final : public Unanswered {
 public:
  Underway(Observer& observer, Asked asked) : observer_(observer), asked_(std::move(asked)) {}

  const Asked& asked() const { return asked_; }

  // Whether this is the answer.
  bool answer(api::Response& response) {
    if (answered_.exchange(true)) return false;
    observer_.answered(asked_, response);
    return true;
  }

  // Whoever asked has hung up, and so it was not done: nobody's failure.
  bool leave(api::Response& response) {
    if (answered_.exchange(true)) return false;
    observer_.left(asked_, response);
    return true;
  }

  std::optional<api::Response> give_up() override {
    constexpr std::string_view kLate = "the store has not answered in time";
    api::Response response =
        api::problem(reads(asked_) ? api::Code::unavailable : api::Code::unknown, kLate);
    if (!answer(response)) return std::nullopt;
    return response;
  }

 private:
  Observer& observer_;
  const Asked asked_;
  std::atomic<bool> answered_ = false;
};

Reply Responder::respond(api::Request request, Home& home, Done later) {
  const bool appends = request.method == "POST" && (request.target.starts_with("/v1/logs/") ||
                                                    request.target.starts_with("/v1/commit"));
  const auto underway = std::make_shared<Underway>(observer_, observer_.asked(request));
  const auto at_once = [&](api::Response response) {
    underway->answer(response);
    return response;
  };
  auto events = api::event_request_of(service_, request);
  if (!events) return at_once(std::move(events.error()));
  if (*events) {
    const Duration patience = patience_for(**events, work_);
    receive(std::move(**events), request, underway, std::move(later));
    return Awaited{patience, underway};
  }
  api::Answer answer = service_.respond(request);
  if (auto* ready = std::get_if<api::Response>(&answer)) return at_once(std::move(*ready));
  const Duration patience = answer.waits + work_;
  const Result<void> started = driver_.start<api::Response>(
      std::get<Plan<api::Response>>(std::move(answer)),
      [this, appends, underway, &home,
       later = std::move(later)](Result<api::Response> outcome) mutable {
        if (appends && outcome && outcome->status < 300) hub_.hint_all();
        api::Response response =
            outcome ? std::move(*outcome) : api::Service::failed(outcome.error());
        const bool left = !outcome && home.is_deserted();
        const bool first = left ? underway->leave(response) : underway->answer(response);
        if (first) later(std::move(response));
      },
      patience, &home);
  if (started) return Awaited{patience, underway};
  return at_once(api::problem(api::Code::overloaded, started.error().message));
}

std::optional<api::Response> Responder::refusal(const api::Request& request) {
  auto resolved = api::resolve(service_, request);
  if (resolved) return std::nullopt;
  return std::move(resolved.error());
}

void Responder::receive(api::EventRequest events, const api::Request& request,
                        const std::shared_ptr<Underway>& underway, Done later) {
  const Asked& asked = underway->asked();
  events::Hop hop{.request_id = asked.request_id};
  if (asked.trace) {
    Trace next = *asked.trace;
    if (!asked.span_id.empty()) next.parent_id = asked.span_id;
    hop.traceparent = format_traceparent(next);
    hop.tracestate = request.headers.find("tracestate").value_or("");
  }
  door_.receive(std::move(events), std::move(hop),
                [this, underway, later = std::move(later)](api::Response response) mutable {
                  if (response.status < 300) hub_.hint_all();
                  if (underway->answer(response)) later(std::move(response));
                });
}

std::expected<std::optional<api::Following>, api::Response> Responder::following(
    const api::Request& request) {
  auto following = api::following_of(service_, request);
  if (!following) observer_.answered(observer_.asked(request), following.error());
  return following;
}

}  // namespace once::server

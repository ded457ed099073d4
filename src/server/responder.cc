#include "server/responder.h"

#include <atomic>
#include <memory>
#include <utility>

#include "api/call.h"
#include "wire/problem.h"

namespace once::server {
namespace {

bool reads(const RequestContext& context) {
  return context.method == "GET" || context.method == "HEAD";
}

api::ForwardContext forward_context(const RequestContext& context, const api::Request& request) {
  api::ForwardContext forward{.request_id = context.request_id};
  if (!context.trace) return forward;
  Trace next = *context.trace;
  if (!context.span_id.empty()) next.parent_id = context.span_id;
  forward.traceparent = format_traceparent(next);
  forward.tracestate = request.headers.find("tracestate").value_or("");
  return forward;
}

}  // namespace

// Sends one answer: the store's or the timeout, whichever is first.
class Responder::Underway final : public PendingReply {
 public:
  Underway(Observer& observer, RequestContext context)
      : observer_(observer), context_(std::move(context)) {}

  const RequestContext& context() const { return context_; }

  // False if an answer was sent already.
  bool answer(api::Response& response) {
    if (answered_.exchange(true)) return false;
    observer_.answered(context_, response);
    return true;
  }

  // The caller hung up, so nothing was done: no failure.
  bool cancel(api::Response& response) {
    if (answered_.exchange(true)) return false;
    observer_.cancelled(context_, response);
    return true;
  }

  std::optional<api::Response> time_out() override {
    constexpr std::string_view kLate = "the store has not answered in time";
    api::Response response =
        api::problem(reads(context_) ? api::Code::unavailable : api::Code::unknown, kLate);
    if (!answer(response)) return std::nullopt;
    return response;
  }

 private:
  Observer& observer_;
  const RequestContext context_;
  std::atomic<bool> answered_ = false;
};

Reply Responder::respond(api::Request request, Executor& executor, ReplyCallback later) {
  const api::RouteMatch match = api::match_route(request.method, request.target);
  const auto underway =
      std::make_shared<Underway>(observer_, observer_.begin(request, api::subject_of(match)));
  const auto at_once = [&](api::Response response) {
    underway->answer(response);
    return response;
  };
  auto resolved = api::resolve(service_, request, match);
  if (!resolved) return at_once(std::move(resolved.error()));
  const std::string& name_space = resolved->call.name_space;
  if (resolved->route->follow == api::Follow::possible) {
    auto following = api::following_of(resolved->call);
    if (!following) return at_once(std::move(following.error()));
    if (*following) return Followed{std::move(**following), std::move(request)};
  }
  api::Answer answer = api::handle(*resolved);
  if (auto* ready = std::get_if<api::Response>(&answer)) return at_once(std::move(*ready));
  if (auto* deferred = std::get_if<api::Deferred>(&answer)) {
    return start(std::move(*deferred), request, name_space, underway, std::move(later));
  }
  const Duration patience = answer.waits + work_;
  const Result<void> started = driver_.start<api::Response>(
      std::get<Plan<api::Response>>(std::move(answer)),
      [this, name_space, underway, &executor,
       later = std::move(later)](Result<api::Response> outcome) mutable {
        if (outcome) wake_followers(name_space, outcome->telemetry);
        api::Response response =
            outcome ? std::move(*outcome) : api::Service::failed(outcome.error());
        const bool cancelled = !outcome && executor.is_cancelled();
        const bool first = cancelled ? underway->cancel(response) : underway->answer(response);
        if (first) later(std::move(response));
      },
      patience, &executor);
  if (started) return Awaited{patience, underway};
  return at_once(api::problem(api::Code::overloaded, started.error().message));
}

std::optional<api::Response> Responder::refusal(const api::Request& request) {
  auto resolved = api::resolve(service_, request);
  if (resolved) return std::nullopt;
  return std::move(resolved.error());
}

Reply Responder::start(api::Deferred deferred, const api::Request& request,
                       const std::string& name_space, const std::shared_ptr<Underway>& underway,
                       ReplyCallback later) {
  const Duration patience = deferred.patience;
  deferred.start(
      forward_context(underway->context(), request),
      [this, name_space, underway, later = std::move(later)](api::Response response) mutable {
        wake_followers(name_space, response.telemetry);
        if (underway->answer(response)) later(std::move(response));
      });
  return Awaited{patience, underway};
}

// The followers of those streams alone: others may be thousands.
void Responder::wake_followers(const std::string& name_space, const api::Telemetry& telemetry) {
  for (const std::string& stream : telemetry.appended) hub_.hint(name_space, stream);
  for (const api::Telemetry& part : telemetry.parts) wake_followers(name_space, part);
}

api::BodyLimit Responder::body_limit(std::string_view method, std::string_view target) const {
  const api::RouteMatch match = api::match_route(method, target);
  return match.any_row != nullptr ? match.any_row->body : api::BodyLimit::normal;
}

}  // namespace once::server

#include "server/responder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "api/call.h"
#include "drivers/long_work.h"
#include "once/time.h"
#include "wire/problem.h"

namespace once::server {
namespace {

constexpr std::string_view kTooMuchLongWork = "too much long work of the namespace waits";

bool reads(const RequestContext& context) {
  return context.method == "GET" || context.method == "HEAD";
}

// Nobody's, where anyone may call without a token.
std::shared_ptr<api::Tenant> tenant_of(api::Service& service, const api::Resolved& resolved) {
  if (resolved.route->access == api::Access::none) return nullptr;
  return service.tenants().find(resolved.call.name_space);
}

// What administrators do counts for no namespace.
std::optional<api::Response> refusal_by_quota(api::Tenant& tenant, const api::Route& route,
                                              const api::Request& request) {
  if (route.access == api::Access::admin) return std::nullopt;
  return api::refusal_by_quota(tenant, api::adds(route), request.body.size(),
                               std::chrono::steady_clock::now().time_since_epoch());
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

  // To be called before the first answer.
  void belongs_to(const std::shared_ptr<api::Tenant>& tenant) { tenant_ = tenant; }

  // False if an answer was sent already.
  bool answer(api::Response& response) {
    if (answered_.exchange(true)) return false;
    observer_.answered(context_, response);
    if (tenant_) tenant_->answered(response.status);
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
    api::Response response = api::Service::timed_out(
        {reads(context_) ? ErrorCode::unavailable : ErrorCode::unknown, std::string(kLate)});
    if (!answer(response)) return std::nullopt;
    return response;
  }

 private:
  Observer& observer_;
  const RequestContext context_;
  std::shared_ptr<api::Tenant> tenant_;
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
  const std::shared_ptr<api::Tenant> tenant = tenant_of(service_, *resolved);
  underway->belongs_to(tenant);
  later.belongs_to(tenant);
  std::optional<api::Response> refused;
  if (tenant) refused = refusal_by_quota(*tenant, *resolved->route, request);
  Reply reply = refused ? at_once(std::move(*refused))
                        : proceed(*resolved, request, executor, underway, std::move(later));
  reply.tenant = tenant;
  return reply;
}

Reply Responder::proceed(api::Resolved& resolved, api::Request& request, Executor& executor,
                         const std::shared_ptr<Underway>& underway, ReplyCallback later) {
  const auto at_once = [&](api::Response response) {
    underway->answer(response);
    return response;
  };
  const std::string& name_space = resolved.call.name_space;
  if (resolved.route->follow == api::Follow::possible) {
    auto following = api::following_of(resolved.call);
    if (!following) return at_once(std::move(following.error()));
    if (*following) return Followed{std::move(**following), std::move(request)};
  }
  if (request.body.size() > detail::kLongWorkBytes) {
    return respond_later(std::move(request), resolved, executor, underway, std::move(later));
  }
  resolved.call.request_id = underway->context().request_id;
  api::Answer answer = api::handle(resolved);
  if (auto* ready = std::get_if<api::Response>(&answer)) return at_once(std::move(*ready));
  if (auto* deferred = std::get_if<api::Deferred>(&answer)) {
    return start(std::move(*deferred), request, name_space, underway, answer.limit,
                 std::move(later));
  }
  Awaited awaited{answer.patience(work_.load()), underway, answer.waits > Duration::zero()};
  const Result<void> started =
      answer.weight > detail::kLongWorkBytes
          ? start_later(std::move(answer), name_space, executor, underway, std::move(later))
          : start(std::move(answer), name_space, executor, underway, std::move(later));
  if (started) return awaited;
  return at_once(api::problem(api::Code::overloaded, started.error().message));
}

// For a caller that can return no answer any more: a refusal, too, goes to `later`.
void Responder::start_or_refuse(api::Answer answer, const std::string& name_space,
                                Executor& executor, const std::shared_ptr<Underway>& underway,
                                ReplyCallback later) {
  const auto shared = std::make_shared<ReplyCallback>(std::move(later));
  const Result<void> started =
      start(std::move(answer), name_space, executor, underway,
            [shared](api::Response response) { (*shared)(std::move(response)); });
  if (started) return;
  api::Response refused = api::problem(api::Code::overloaded, started.error().message);
  if (underway->answer(refused)) (*shared)(std::move(refused));
}

// Parses a large body, and what follows from it, where nothing short waits behind it.
Reply Responder::respond_later(api::Request request, const api::Resolved& resolved,
                               Executor& executor, const std::shared_ptr<Underway>& underway,
                               ReplyCallback later) {
  const bool may_wait = resolved.route->handler == api::take_claim;
  const std::string name_space = resolved.call.name_space;
  auto job = [this, request = std::move(request), name_space, &executor, underway,
              later = std::move(later)]() mutable {
    const auto reply = [&](api::Response response) {
      if (underway->answer(response)) later(std::move(response));
    };
    auto again = api::resolve(service_, request);
    if (!again) return reply(std::move(again.error()));
    again->call.request_id = underway->context().request_id;
    api::Answer answer = api::handle(*again);
    if (auto* ready = std::get_if<api::Response>(&answer)) return reply(std::move(*ready));
    if (auto* deferred = std::get_if<api::Deferred>(&answer)) {
      start(std::move(*deferred), request, name_space, underway, answer.limit, std::move(later));
      return;
    }
    answer.weight = std::max(answer.weight, request.body.size());
    request.body = {};
    start_or_refuse(std::move(answer), name_space, executor, underway, std::move(later));
  };
  if (driver_.run_long(api::tenant_number(name_space), std::move(job))) {
    return Awaited{(may_wait ? api::kMaxWait : Duration::zero()) + work_.load(), underway,
                   may_wait};
  }
  api::Response refused = api::problem(api::Code::overloaded, kTooMuchLongWork);
  underway->answer(refused);
  return refused;
}

// Starts a plan whose first part takes long.
Result<void> Responder::start_later(api::Answer answer, const std::string& name_space,
                                    Executor& executor, const std::shared_ptr<Underway>& underway,
                                    ReplyCallback later) {
  auto job = [this, answer = std::move(answer), name_space, &executor, underway,
              later = std::move(later)]() mutable {
    start_or_refuse(std::move(answer), name_space, executor, underway, std::move(later));
  };
  if (driver_.run_long(api::tenant_number(name_space), std::move(job))) return {};
  return failure(ErrorCode::unavailable, std::string(kTooMuchLongWork));
}

Result<void> Responder::start(api::Answer answer, const std::string& name_space, Executor& executor,
                              const std::shared_ptr<Underway>& underway, ReplyCallback later) {
  const Duration patience = answer.patience(work_.load());
  const PlanOptions options{.patience = patience,
                            .executor = &executor,
                            .tenant = api::tenant_number(name_space),
                            .weight = answer.weight};
  // By the driver's clock, and read before it: what the driver ends as late is late here too.
  return driver_.start<api::Response>(
      std::get<Plan<api::Response>>(std::move(answer)),
      [this, name_space, underway, &executor, due = once::later(system_clock().now(), patience),
       later = std::move(later)](Result<api::Response> outcome) mutable {
        if (outcome) wake_followers(name_space, outcome->telemetry);
        api::Response response =
            outcome ? std::move(*outcome) : api::Service::failed(outcome.error());
        if (!outcome && system_clock().now() >= due) {
          response = api::Service::timed_out(outcome.error());
        }
        const bool cancelled = !outcome && executor.is_cancelled();
        const bool first = cancelled ? underway->cancel(response) : underway->answer(response);
        if (first) later(std::move(response));
      },
      options);
}

Admission Responder::admit(const api::Request& request) {
  const auto resolved = api::resolve(service_, request);
  if (!resolved) return {resolved.error(), nullptr};
  return {std::nullopt, tenant_of(service_, *resolved)};
}

Reply Responder::start(api::Deferred deferred, const api::Request& request,
                       const std::string& name_space, const std::shared_ptr<Underway>& underway,
                       std::optional<Duration> limit, ReplyCallback later) {
  const Duration patience = limit ? std::min(*limit, deferred.patience) : deferred.patience;
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

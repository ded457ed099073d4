#include "proxy/observed_handler.h"

#include <memory>
#include <utility>

#include "proxy/headers.h"

namespace once::proxy {
namespace {

constexpr std::string_view kTraceparent = "traceparent";
constexpr int kServerErrors = 500;

// What an upstream said, now or earlier: not a header is added to it.
bool is_of_upstream(const api::Response& response) {
  const auto outcome = response.telemetry.outcome;
  return outcome == api::Outcome::executed || outcome == api::Outcome::passed ||
         outcome == api::Outcome::replayed || outcome == api::Outcome::unguarded;
}

bool reads(std::string_view method) { return method == "GET" || method == "HEAD"; }

}  // namespace

api::Headers with_trace(const api::Headers& headers, const server::Trace& trace) {
  api::Headers changed;
  for (const auto& [name, value] : headers.fields()) {
    if (!same_name(name, kTraceparent)) changed.add(name, value);
  }
  changed.add(std::string(kTraceparent), format_traceparent(trace));
  return changed;
}

void ObservedHandler::count(const api::Response& response) {
  if (response.telemetry.outcome == api::Outcome::replayed) {
    ++replayed_;
  } else if (is_of_upstream(response)) {
    ++done_;
  } else if (response.status >= kServerErrors) {
    ++failed_;
  }
}

wire::WorkerStatus ObservedHandler::status() const {
  wire::WorkerStatus status;
  status.kind = "proxy";
  status.done = done_;
  status.duplicates = replayed_;
  status.failed = failed_;
  return status;
}

server::Reply ObservedHandler::respond(api::Request request, Executor& executor,
                                       ReplyCallback later) {
  const auto context = std::make_shared<server::RequestContext>(
      observer_.begin(request, {metrics::Primitive::proxy, reads(request.method)}));
  if (!context->span_id.empty()) {
    request.headers =
        with_trace(request.headers, {context->trace->trace_id, context->span_id, true});
  }
  const auto answered = [this, context](api::Response& response) {
    count(response);
    context->is_ours = !is_of_upstream(response);
    observer_.answered(*context, response);
  };
  server::Reply reply =
      inner_.respond(std::move(request), executor,
                     [answered, later = std::move(later)](
                         api::Response response, server::ReplyCallback::Body body) mutable {
                       answered(response);
                       later(std::move(response), std::move(body));
                     });
  if (auto* ready = std::get_if<api::Response>(&reply)) answered(*ready);
  return reply;
}

}  // namespace once::proxy

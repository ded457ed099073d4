#include "proxy/watched.h"

#include <memory>
#include <utility>

#include "proxy/headers.h"

namespace once::proxy {
namespace {

constexpr std::string_view kTraceparent = "traceparent";

// What an upstream said, now or earlier: not a header is added to it.
bool is_of_upstream(const api::Response& response) {
  const auto outcome = response.notes.outcome;
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

server::Reply Watched::respond(api::Request request, Home& home, Done later) {
  const auto asked = std::make_shared<server::Asked>(
      observer_.asked(request, {api::Primitive::proxy, reads(request.method)}));
  if (!asked->span_id.empty()) {
    request.headers = with_trace(request.headers, {asked->trace->trace_id, asked->span_id, true});
  }
  const auto answered = [this, asked](api::Response& response) {
    asked->is_answered = !is_of_upstream(response);
    observer_.answered(*asked, response);
  };
  server::Reply reply =
      inner_.respond(std::move(request), home,
                     [answered, later = std::move(later)](api::Response response,
                                                          server::Done::Rest rest) mutable {
                       answered(response);
                       later(std::move(response), std::move(rest));
                     });
  if (auto* ready = std::get_if<api::Response>(&reply)) answered(*ready);
  return reply;
}

}  // namespace once::proxy

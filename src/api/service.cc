#include "api/service.h"

#include <algorithm>

#include "api/audit.h"
#include "api/call.h"
#include "api/follow.h"
#include "base/encoding.h"
#include "primitives/keys.h"
#include "wire/text.h"

namespace once::api {
namespace {

Result<void> take_query(std::string_view query, Call& call) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    std::string raw(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    std::ranges::replace(raw, '+', ' ');
    const auto name = percent_decode(pair.substr(0, equals));
    auto value = percent_decode(raw);
    if (!name || !value) return failure(ErrorCode::invalid, "the query is badly percent-encoded");
    if (!is_utf8(*name) || !is_utf8(*value)) {
      return failure(ErrorCode::invalid, "the query is not UTF-8");
    }
    if (!call.query.emplace(*name, std::move(*value)).second) {
      return failure(ErrorCode::invalid, *name + " is twice in the query");
    }
  }
  return {};
}

Result<void> take_name(std::string_view raw, Call& call) {
  const auto name = percent_decode(raw);
  if (!name) return failure(ErrorCode::invalid, "the path is badly percent-encoded");
  call.name = *name;
  return keys::check_name(call.name);
}

// Headers that must not be repeated, because recipients differ in which one they read.
Result<void> check_headers(const Headers& headers) {
  for (const std::string_view name :
       {"Once-Namespace", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key",
        "Last-Event-ID", "Authorization", "Once-Bytes", "Once-Timeout", "Once-TTL", "Once-Retry"}) {
    if (headers.count(name) > 1) {
      return failure(ErrorCode::invalid, std::string(name) + " is there twice");
    }
  }
  return {};
}

Result<void> take_namespace(const Request& request, Call& call) {
  const auto wanted = request.headers.find("Once-Namespace");
  call.name_space = wanted ? std::string(*wanted) : call.service.options().name_space;
  return keys::check_namespace(call.name_space);
}

Result<void> take_form(const Request& request, Call& call) {
  const Result<DataForm> form = form_in(request.headers);
  if (!form) return std::unexpected(form.error());
  call.form = *form;
  return {};
}

// How long the request may take at most, if it says so.
Result<void> take_timeout(const Request& request, Call& call) {
  const auto wanted = request.headers.find("Once-Timeout");
  if (!wanted) return {};
  call.timeout = parse_duration_or_seconds(*wanted);
  if (call.timeout && *call.timeout > Duration::zero()) return {};
  return failure(ErrorCode::invalid, "Once-Timeout is not a duration such as 250ms or 2s");
}

Response no_route(const Request& request) {
  const std::string allowed = allowed_methods(request.target);
  if (allowed.empty()) return problem(Code::not_found, "there is no such path");
  if (request.method == "OPTIONS") {
    Response response{204, {}, ""};
    response.headers.add("Allow", allowed + ", OPTIONS");
    return response;
  }
  return Problem(Code::invalid, "the path does not take " + request.method)
      .status(405)
      .header("Allow", allowed + ", OPTIONS")
      .finish();
}

std::optional<std::string_view> bearer_of(const Request& request) {
  constexpr std::string_view kBearer = "bearer ";
  const auto given = request.headers.find("Authorization");
  if (!given || lowered(given->substr(0, kBearer.size())) != kBearer) return std::nullopt;
  return given->substr(kBearer.size());
}

bool allows(const tokens::Grant& grant, Access access) {
  if (access == Access::admin) return grant.name_space.empty() && !grant.read_only;
  return access == Access::read || !grant.read_only;
}

Response unauthorized(std::string_view why) {
  return Problem(Code::unauthorized, why).header("WWW-Authenticate", "Bearer").finish();
}

// A browser's EventSource can send no header: it may give a token in the query, which only follows.
std::optional<std::string> token_in_query(const Route& route, Call& call) {
  if (route.follow != Follow::possible) return std::nullopt;
  const Result<bool> follows = asks_to_follow(call);
  return follows && *follows ? call.parameter("access_token") : std::nullopt;
}

// Why the caller is refused, if it is. If there never was a token and none is required, everyone
// may call. A token for one namespace also selects that namespace.
std::optional<Response> refusal(const Request& request, const Route& route, Call& call) {
  const tokens::Table& tokens = call.service.tokens();
  const std::optional<std::string> in_query = token_in_query(route, call);
  if (route.access == Access::none || call.service.is_open()) return std::nullopt;
  auto secret = bearer_of(request);
  const bool is_in_query = !secret && in_query;
  if (is_in_query) secret = *in_query;
  if (!secret) return unauthorized("a token is missing");
  if (!tokens.is_trusted()) {
    return problem(Code::unavailable, "the tokens were not read from the store for too long");
  }
  const auto grant = tokens.find(*secret);
  if (!grant) return unauthorized("the token is not known");
  if (!allows(*grant, route.access)) {
    return problem(Code::forbidden, "the token does not allow this");
  }
  if (is_in_query && !grant->read_only) {
    return problem(Code::forbidden, "only a token that is read-only may be in a query");
  }
  if (grant->name_space.empty()) return std::nullopt;
  const bool names_one = request.headers.find("Once-Namespace").has_value();
  if (names_one && call.name_space != grant->name_space) {
    return problem(Code::forbidden, "the token is for another namespace");
  }
  call.name_space = grant->name_space;
  return std::nullopt;
}

// The value of a parameter; empty if it is missing or empty.
template <class Value>
Result<std::optional<Value>> parsed(std::string_view name, const std::optional<std::string>& text,
                                    std::optional<Value> (*parse)(std::string_view),
                                    std::string_view what) {
  if (!text || text->empty()) return std::nullopt;
  const std::optional<Value> value = parse(*text);
  if (!value) return failure(ErrorCode::invalid, std::string(name).append(" is not ").append(what));
  return value;
}

}  // namespace

std::optional<tokens::Grant> Call::grant() const {
  if (service.is_open()) return tokens::Grant{};
  const tokens::Table& tokens = service.tokens();
  const auto secret = bearer_of(request);
  if (!secret || !tokens.is_trusted()) return std::nullopt;
  return tokens.find(*secret);
}

bool Call::may_see_server() const {
  const std::optional<tokens::Grant> granted = grant();
  return granted && granted->name_space.empty();
}

std::optional<std::string> Call::token_id() const {
  const auto secret = bearer_of(request);
  if (service.is_open() || !secret) return std::nullopt;
  return tokens::id_of(*secret);
}

Result<Json> Call::json() const { return parse_json(request.body.empty() ? "{}" : request.body); }

std::optional<std::string> Call::parameter(std::string_view name) {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  return query.extract(found).mapped();
}

Result<std::optional<std::int64_t>> Call::integer(std::string_view name) {
  return parsed(name, parameter(name), parse_integer, "an integer");
}

Result<std::optional<Time>> Call::time(std::string_view name) {
  return parsed(name, parameter(name), parse_time, "a time of RFC 3339");
}

Result<std::optional<Duration>> Call::duration(std::string_view name) {
  return parsed(name, parameter(name), parse_duration_or_seconds, "a duration");
}

Result<wire::ListingRequest> Call::listing() {
  wire::ListingRequest request;
  const auto limit = integer("limit");
  if (!limit) return std::unexpected(limit.error());
  const std::int64_t most = limit->value_or(static_cast<std::int64_t>(request.limit));
  if (most < 1 || most > static_cast<std::int64_t>(kMaxPage)) {
    return failure(ErrorCode::invalid, "limit is 1 to 10000");
  }
  request.limit = static_cast<std::size_t>(most);
  request.prefix = parameter("prefix").value_or("");
  if (Result<void> ok = keys::check_prefix(request.prefix); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  Result<std::string> cursor = wire::decode_cursor(parameter("cursor").value_or(""));
  if (!cursor) return std::unexpected(std::move(cursor.error()));
  request.cursor = std::move(*cursor);
  return request;
}

Result<Listing> listing_of(Call& call) {
  Result<wire::ListingRequest> request = call.listing();
  if (!request) return std::unexpected(std::move(request.error()));
  return Listing{std::move(request->prefix), std::move(request->cursor), request->limit};
}

HotSpot Call::hot_spot(std::string_view kind) const {
  return {service.hot(), name_space, std::string(kind).append("/").append(name)};
}

std::expected<Resolved, Response> resolve(Service& service, const Request& request,
                                          const RouteMatch& match) {
  if (match.route == nullptr) return std::unexpected(no_route(request));
  Call call{.service = service, .request = request};
  Result<void> ok = check_headers(request.headers);
  if (ok) ok = take_namespace(request, call);
  if (ok) ok = take_form(request, call);
  if (ok) ok = take_timeout(request, call);
  const Result<void> query = take_query(match.query, call);
  if (ok) {
    auto refused = refusal(request, *match.route, call);
    if (refused) return std::unexpected(std::move(*refused));
    if (match.route->access == Access::write && is_reserved(call.name_space)) {
      return std::unexpected(
          problem(Code::forbidden, "namespace once is the server's own: it can only be read"));
    }
  }
  const bool named = match.route->path.find("{}") != std::string_view::npos;
  if (ok && named) ok = take_name(match.name, call);
  if (ok) ok = query;
  if (!ok) return std::unexpected(problem(ok.error()));
  return Resolved{match.route, std::move(call)};
}

std::expected<Resolved, Response> resolve(Service& service, const Request& request) {
  return resolve(service, request, match_route(request.method, request.target));
}

Answer handle(Resolved& resolved) {
  Call& call = resolved.call;
  Answer answer = resolved.route->handler(call);
  answer.limit = call.timeout;
  // Nothing of the answer was performed yet. Probes may add any parameter.
  const bool left_over = !call.query.empty() && resolved.route->access != Access::none;
  const auto* ready = std::get_if<Response>(&answer);
  if (!left_over || (ready != nullptr && ready->status >= 400)) return answer;
  return problem(Code::invalid, call.query.begin()->first + " is not a parameter of this request");
}

Answer Service::respond(const Request& request) {
  auto resolved = resolve(*this, request);
  if (!resolved) return std::move(resolved.error());
  return handle(*resolved);
}

bool Service::is_open() const { return !tokens_.is_closed() && !options_.needs_tokens; }

Response Service::failed(const Error& error) { return problem(error); }

Response Service::timed_out(const Error& error) {
  if (error.code != ErrorCode::unknown) return problem(error);
  return Problem(Code::unknown, error.message).status(504).finish();
}

Answer receive_events(Call& call) {
  EventReceiver* const receiver = call.service.event_receiver();
  if (receiver == nullptr) {
    return problem(Code::unsupported, "events are received by 'once serve'");
  }
  return receiver->receive(call);
}

}  // namespace once::api

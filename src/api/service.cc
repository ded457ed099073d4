#include "api/service.h"

#include <algorithm>

#include "api/call.h"
#include "api/text.h"
#include "primitives/keys.h"

namespace once::api {
namespace {

// Takes the next segment from the front of a path.
std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);  // The slash.
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

// Whether the path is one of the route; then `name` is what its {} stands for, still
// percent-encoded. Nothing is copied: every request passes by most routes.
bool matches(std::string_view pattern, std::string_view path, std::string_view& name) {
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = next_segment(pattern);
    const std::string_view segment = next_segment(path);
    if (wanted == "{}") {
      name = segment;
    } else if (wanted != segment) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

Result<void> take_query(std::string_view query, Call& call) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    std::string raw(equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    std::ranges::replace(raw, '+', ' ');
    const auto name = decode_percent(pair.substr(0, equals));
    auto value = decode_percent(raw);
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
  const auto name = decode_percent(raw);
  if (!name) return failure(ErrorCode::invalid, "the path is badly percent-encoded");
  call.name = *name;
  return keys::check_name(call.name);
}

// Headers of which a second one would be read by some and not by others.
Result<void> check_headers(const Headers& headers) {
  for (const std::string_view name :
       {"Once-Namespace", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key",
        "Last-Event-ID", "Authorization", "Once-Bytes"}) {
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

struct Found {
  const Route* route = nullptr;  // Null: none for this method.
  std::string_view name;
  std::string allowed;  // The methods that this path has; empty if there is no such path.
};

void allow(std::string& allowed, std::string_view method) {
  if (allowed.find(method) != std::string::npos) return;
  if (!allowed.empty()) allowed += ", ";
  allowed += method;
}

Found find_route(const std::string& method, std::string_view path) {
  Found found;
  for (const Route& route : routes()) {
    std::string_view name;
    if (!matches(route.path, path, name)) continue;
    allow(found.allowed, route.method);
    if (route.method == "GET") allow(found.allowed, "HEAD");
    const bool head = method == "HEAD" && route.method == "GET";
    if (found.route == nullptr && (route.method == method || head)) {
      found.route = &route;
      found.name = name;
    }
  }
  return found;
}

Response no_route(const Found& found, const std::string& method) {
  if (found.allowed.empty()) return problem(Code::not_found, "there is no such path");
  if (method == "OPTIONS") {
    Response response{204, {}, ""};
    response.headers.add("Allow", found.allowed + ", OPTIONS");
    return response;
  }
  return Problem(Code::invalid, "the path does not take " + method)
      .status(405)
      .header("Allow", found.allowed + ", OPTIONS")
      .finish();
}

// Without the scheme and the authority that a client may send, as if to a proxy.
std::string_view origin_form(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (lowered(target.substr(0, kScheme.size())) != kScheme) return target;
  const std::size_t path = target.find('/', kScheme.size());
  return path == std::string_view::npos ? "/" : target.substr(path);
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

// What keeps the caller out, if anything does. Where no tokens are configured and none are
// required, everybody may. A token of one namespace stands for that one.
std::optional<Response> refusal(const Request& request, Access access, Call& call) {
  const tokens::Table& tokens = call.service.tokens();
  const bool open_to_all = tokens.empty() && !call.service.options().needs_tokens;
  if (access == Access::open || open_to_all) return std::nullopt;
  const auto secret = bearer_of(request);
  const auto grant = secret ? tokens.find(*secret) : std::nullopt;
  if (!grant) {
    return Problem(Code::unauthorized, secret ? "the token is not known" : "a token is missing")
        .header("WWW-Authenticate", "Bearer")
        .finish();
  }
  if (!allows(*grant, access)) return problem(Code::forbidden, "the token does not allow this");
  if (grant->name_space.empty()) return std::nullopt;
  const bool names_one = request.headers.find("Once-Namespace").has_value();
  if (names_one && call.name_space != grant->name_space) {
    return problem(Code::forbidden, "the token is for another namespace");
  }
  call.name_space = grant->name_space;
  return std::nullopt;
}

}  // namespace

Result<Json> Call::json() const { return parse_json(request.body.empty() ? "{}" : request.body); }

std::optional<std::string> Call::parameter(std::string_view name) {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  return query.extract(found).mapped();
}

Result<std::optional<std::int64_t>> Call::integer(std::string_view name) {
  const auto text = parameter(name);
  if (!text || text->empty()) return std::nullopt;
  const auto value = parse_integer(*text);
  if (!value) return failure(ErrorCode::invalid, std::string(name) + " is not an integer");
  return value;
}

Result<std::optional<Time>> Call::time(std::string_view name) {
  const auto text = parameter(name);
  if (!text || text->empty()) return std::nullopt;
  const auto value = parse_time(*text);
  if (!value) return failure(ErrorCode::invalid, std::string(name) + " is not a time of RFC 3339");
  return value;
}

Result<std::optional<Duration>> Call::duration(std::string_view name) {
  const auto text = parameter(name);
  if (!text || text->empty()) return std::nullopt;
  const auto value = parse_duration(*text);
  if (!value) return failure(ErrorCode::invalid, std::string(name) + " is not a duration");
  return value;
}

HotSpot Call::hot_spot(std::string_view kind) const {
  return {service.hot(), name_space, std::string(kind).append("/").append(name)};
}

std::expected<Resolved, Response> resolve(Service& service, const Request& request) {
  const std::string_view target = origin_form(request.target);
  const std::size_t question = target.find('?');
  const std::string_view path = target.substr(0, question);
  const bool rooted = path.starts_with('/');
  const Found found = rooted ? find_route(request.method, path) : Found{};
  if (found.route == nullptr) return std::unexpected(no_route(found, request.method));
  Call call{.service = service, .request = request};
  Result<void> ok = check_headers(request.headers);
  if (ok) ok = take_namespace(request, call);
  if (ok) ok = take_form(request, call);
  if (ok) {
    auto refused = refusal(request, found.route->access, call);
    if (refused) return std::unexpected(std::move(*refused));
  }
  const bool named = found.route->path.find("{}") != std::string_view::npos;
  if (ok && named) ok = take_name(found.name, call);
  if (ok) {
    ok = take_query(question == std::string_view::npos ? "" : target.substr(question + 1), call);
  }
  if (!ok) return std::unexpected(problem(ok.error()));
  return Resolved{found.route, std::move(call)};
}

Answer Service::respond(const Request& request) {
  auto resolved = resolve(*this, request);
  if (!resolved) return std::move(resolved.error());
  Call& call = resolved->call;
  Answer answer = resolved->route->handler(call);
  // Whatever was answered performs nothing before a driver runs it. Probes may add what they like.
  const bool left_over = !call.query.empty() && resolved->route->access != Access::open;
  const auto* ready = std::get_if<Response>(&answer);
  if (!left_over || (ready != nullptr && ready->status >= 400)) return answer;
  return problem(Code::invalid, call.query.begin()->first + " is not a parameter of this request");
}

Response Service::failed(const Error& error) { return problem(error); }

}  // namespace once::api

#include "api/service.h"

#include <algorithm>
#include <vector>

#include "api/call.h"
#include "api/text.h"
#include "primitives/keys.h"

namespace once::api {
namespace {

struct Target {
  std::vector<std::string> segments;  // Still percent-encoded.
  std::string_view query;
};

Target split(std::string_view target) {
  Target out;
  const std::size_t question = target.find('?');
  if (question != std::string_view::npos) out.query = target.substr(question + 1);
  std::string_view path = target.substr(0, question);
  if (path.starts_with('/')) path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    out.segments.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

// Whether the segments are those of the route; then `name` is what its {} stands for.
bool matches(const Route& route, const std::vector<std::string>& segments, std::string& name) {
  const Target pattern = split(route.path);
  if (pattern.segments.size() != segments.size()) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (pattern.segments[i] == "{}") {
      name = segments[i];
    } else if (pattern.segments[i] != segments[i]) {
      return false;
    }
  }
  return true;
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
    if (!call.query.emplace(*name, std::move(*value)).second) {
      return failure(ErrorCode::invalid, *name + " is twice in the query");
    }
  }
  return {};
}

Result<void> take_name(const std::string& raw, Call& call) {
  const auto name = decode_percent(raw);
  if (!name) return failure(ErrorCode::invalid, "the path is badly percent-encoded");
  call.name = *name;
  return keys::check_name(call.name);
}

Result<void> take_namespace(const Request& request, Call& call) {
  if (request.headers.count("Once-Namespace") > 1) {
    return failure(ErrorCode::invalid, "Once-Namespace is there twice");
  }
  const auto wanted = request.headers.find("Once-Namespace");
  call.name_space = wanted ? std::string(*wanted) : call.service.options().name_space;
  return keys::check_namespace(call.name_space);
}

struct Found {
  const Route* route = nullptr;  // Null: none for this method.
  std::string name;
  std::string allowed;  // The methods that this path has; empty if there is no such path.
};

Found find_route(const std::string& method, const std::vector<std::string>& segments) {
  Found found;
  for (const Route& route : routes()) {
    std::string name;
    if (!matches(route, segments, name)) continue;
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += route.method;
    if (route.method == "GET") found.allowed += ", HEAD";
    const bool head = method == "HEAD" && route.method == "GET";
    if (found.route == nullptr && (route.method == method || head)) {
      found.route = &route;
      found.name = std::move(name);
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

}  // namespace

std::optional<std::string> Call::parameter(std::string_view name) {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  return query.extract(found).mapped();
}

Result<std::optional<std::int64_t>> Call::integer(std::string_view name) {
  const auto text = parameter(name);
  if (!text) return std::nullopt;
  const auto value = parse_integer(*text);
  if (!value) return failure(ErrorCode::invalid, std::string(name) + " is not an integer");
  return value;
}

Result<std::optional<Time>> Call::time(std::string_view name) {
  const auto text = parameter(name);
  if (!text) return std::nullopt;
  const auto value = parse_time(*text);
  if (!value) return failure(ErrorCode::invalid, std::string(name) + " is not a time of RFC 3339");
  return value;
}

Result<void> Call::finish_query() const {
  if (query.empty()) return {};
  return failure(ErrorCode::invalid, query.begin()->first + " is not a parameter of this request");
}

Answer Service::respond(const Request& request) {
  const Target target = split(request.target);
  const Found found = find_route(request.method, target.segments);
  if (found.route == nullptr) return no_route(found, request.method);
  Call call{*this, request, "", "", {}};
  Result<void> ok = take_namespace(request, call);
  if (ok && !found.name.empty()) ok = take_name(found.name, call);
  const bool named = found.route->path.find("{}") != std::string_view::npos;
  if (ok && named && found.name.empty()) ok = keys::check_name("");
  if (ok) ok = take_query(target.query, call);
  if (!ok) return problem(ok.error());
  return found.route->handler(call);
}

Response Service::failed(const Error& error) { return problem(error); }

}  // namespace once::api

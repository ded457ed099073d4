#include "cli/event_routes.h"

#define TOML_EXCEPTIONS 0  // NOLINT(readability-identifier-naming)
#include <toml++/toml.h>

#include <optional>
#include <utility>

#include "wire/text.h"

namespace once::cli {
namespace {

std::unexpected<Error> wrong(std::string message) {
  return failure(ErrorCode::invalid, std::move(message));
}

Result<void> take_text(std::string_view name, const std::string& value, std::string& into) {
  if (value.empty()) return wrong(std::string(name).append(" is empty"));
  into = value;
  return {};
}

Result<void> take_duration(std::string_view name, const std::string& value, Duration& into) {
  const std::optional<Duration> duration = api::parse_duration(value);
  if (!duration) {
    return wrong(std::string(name).append(" is not a duration such as 30s or 24h: ").append(value));
  }
  into = *duration;
  return {};
}

Result<void> take_field(std::string_view name, const toml::node& node, events::EventRoute& route) {
  const auto* const text = node.as_string();
  if (text == nullptr) return wrong(std::string(name).append(" is not a text"));
  const std::string& value = text->get();
  if (name == "type") return take_text(name, value, route.type);
  if (name == "forward") return take_text(name, value, route.forward);
  if (name == "log") return take_text(name, value, route.log);
  if (name == "tally") return take_text(name, value, route.tally);
  if (name == "ttl") return take_duration(name, value, route.ttl);
  if (name == "timeout") return take_duration(name, value, route.timeout);
  if (name == "lease") return take_duration(name, value, route.lease);
  return wrong(std::string(name).append(
      " is no field of a route: they are type, forward, log, tally, ttl, timeout and lease"));
}

Result<events::EventRoute> route_of(const toml::node& node) {
  const auto* const table = node.as_table();
  if (table == nullptr) return wrong("a route is a table: [[route]]");
  events::EventRoute route;
  for (const auto& [name, value] : *table) {
    if (Result<void> ok = take_field(name.str(), value, route); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  if (Result<void> ok = events::check_route(route); !ok)
    return std::unexpected(std::move(ok.error()));
  return route;
}

}  // namespace

Result<events::EventRoutes> load_routes(const std::string& file) {
  const toml::parse_result parsed = toml::parse_file(file);
  if (!parsed) return wrong(file + ": " + std::string(parsed.error().description()));
  const toml::node* const node = parsed.table().get("route");
  events::EventRoutes routes;
  if (node == nullptr) return routes;
  const auto* const array = node->as_array();
  if (array == nullptr) return wrong(file + ": route is written [[route]]");
  if (array->size() > events::kMaxRoutes) return wrong(file + ": more than 1000 routes");
  for (const toml::node& one : *array) {
    Result<events::EventRoute> route = route_of(one);
    if (!route) {
      std::string message = file;
      message.append(": route ").append(std::to_string(routes.size() + 1));
      return wrong(message.append(": ").append(route.error().message));
    }
    routes.push_back(std::move(*route));
  }
  return routes;
}

}  // namespace once::cli

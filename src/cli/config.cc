#include "cli/config.h"

#define TOML_EXCEPTIONS 0  // NOLINT(readability-identifier-naming)
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "cli/command.h"
#include "wire/text.h"

namespace once::cli {
namespace {

std::unexpected<Error> bad_file(const std::string& file, const std::string& problem) {
  return failure(ErrorCode::invalid, file + ": " + problem);
}

bool takes(const Command& command, std::string_view option) {
  const auto has = [&](std::span<const Option> options) {
    return std::ranges::find(options, option, &Option::name) != options.end();
  };
  return has(common_options()) ||
         std::ranges::any_of(command.verbs, [&](const Verb& verb) { return has(verb.options); });
}

bool anyone_takes(std::string_view option) {
  return std::ranges::any_of(commands(),
                             [&](const Command& command) { return takes(command, option); });
}

bool is_list(std::string_view option) {
  const auto is_it = [&](const Option& one) {
    return one.name == option && one.kind == Option::Kind::list;
  };
  return std::ranges::any_of(commands(), [&](const Command& command) {
    return std::ranges::any_of(
        command.verbs, [&](const Verb& verb) { return std::ranges::any_of(verb.options, is_it); });
  });
}

// An array of texts, as an option of several values is given on the command line: with commas.
std::optional<std::string> joined(const toml::node& node) {
  const auto* const array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::string all;
  for (const toml::node& one : *array) {
    const auto* const text = one.as_string();
    if (text == nullptr) return std::nullopt;
    all.append(all.empty() ? "" : ",").append(text->get());
  }
  return all;
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (!node.is_integer() && !node.is_boolean() && !node.is_floating_point()) return std::nullopt;
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

// What is no option: `once serve` reads it.
bool is_of_the_server(std::string_view key) { return key == "route"; }

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

std::optional<std::string> Config::find(std::string_view command, std::string_view option) const {
  auto found = values_.find(std::string(command).append(".").append(option));
  if (found == values_.end()) found = values_.find(option);
  return found != values_.end() ? std::optional(found->second) : std::nullopt;
}

Result<Config> load_config(const std::string& file) {
  const toml::parse_result parsed = toml::parse_file(file);
  if (!parsed) {
    const auto line = parsed.error().source().begin.line;
    const std::string where = line > 0 ? "line " + std::to_string(line) + ": " : "";
    return bad_file(file, where + std::string(parsed.error().description()));
  }
  Config config;
  const auto take = [&](const std::string& key, const toml::node& node) -> Result<void> {
    std::optional<std::string> text = text_of(node);
    if (!text && is_list(key.substr(key.find('.') + 1))) text = joined(node);
    if (!text) return bad_file(file, key + " is neither a text, a number, true nor false");
    config.values_[key] = std::move(*text);
    return {};
  };
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    const Command* command = node.is_table() ? find_command(name) : nullptr;
    if (is_of_the_server(name)) continue;
    if (command == nullptr) {
      if (!anyone_takes(name)) return bad_file(file, "no command takes " + name);
      if (Result<void> ok = take(name, node); !ok) return std::unexpected(ok.error());
      continue;
    }
    for (const auto& [option, value] : *node.as_table()) {
      const std::string within(option.str());
      if (!takes(*command, within)) {
        return bad_file(file, std::string(name).append(" takes no ").append(within));
      }
      const std::string full = std::string(name).append(".").append(within);
      if (Result<void> ok = take(full, value); !ok) {
        return std::unexpected(ok.error());
      }
    }
  }
  return config;
}

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

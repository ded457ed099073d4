#include "cli/config.h"

#define TOML_EXCEPTIONS 0  // NOLINT(readability-identifier-naming)
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "base/names.h"
#include "cli/command.h"
#include "cli/invocation.h"
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
  const auto says_so = [&](const Option& one) {
    return one.name == option && one.kind == Option::Kind::list;
  };
  return std::ranges::any_of(commands(), [&](const Command& command) {
    return std::ranges::any_of(command.verbs, [&](const Verb& verb) {
      return std::ranges::any_of(verb.options, says_so);
    });
  });
}

// The values of an array, as an option that is a list has them.
std::optional<std::string> list_of(const toml::array& values) {
  std::string out;
  for (const toml::node& value : values) {
    const auto* text = value.as_string();
    if (text == nullptr) return std::nullopt;
    out.append(out.empty() ? "" : ",").append(text->get());
  }
  return out;
}

std::optional<std::string> text_of(std::string_view option, const toml::node& node) {
  if (const auto* values = node.as_array(); values != nullptr && is_list(option)) {
    return list_of(*values);
  }
  if (const auto* text = node.as_string()) return text->get();
  if (!node.is_integer() && !node.is_boolean() && !node.is_floating_point()) return std::nullopt;
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

// What is no option: `once serve` reads it. As a text, `namespace` is an option.
bool is_of_the_server(std::string_view key, const toml::node& node) {
  return key == "route" || (key == "namespace" && node.is_table());
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

// A number that is not negative, nor too large for a count.
std::optional<double> number_of(const toml::node& node) {
  constexpr double kMost = 1e18;
  const std::optional<double> number = node.value<double>();
  if (node.is_boolean() || !number || !(*number >= 0 && *number <= kMost)) return std::nullopt;
  return number;
}

Result<void> take_quota(std::string_view name, const toml::node& node, api::Quota& quota) {
  const std::optional<double> number = number_of(node);
  const bool is_count = number && node.is_integer();
  if (name == "requests_per_second") {
    constexpr double kMostRequests = 1e9;
    constexpr double kLeastRequests = 0.001;
    if (!number || *number < kLeastRequests || *number > kMostRequests) {
      return wrong("requests_per_second is a number from 0.001 to 1e9");
    }
    quota.requests_per_second = number;
    return {};
  }
  if (name != "keys" && name != "bytes") {
    return wrong(
        std::string(name).append(" is no quota: they are keys, bytes and requests_per_second"));
  }
  if (!is_count) return wrong(std::string(name).append(" is not a whole number, 0 or more"));
  (name == "keys" ? quota.keys : quota.bytes) = static_cast<std::uint64_t>(*number);
  return {};
}

Result<api::Quota> quota_of(std::string_view name_space, const toml::node& node) {
  const auto* const table = node.as_table();
  if (table == nullptr) return wrong("a quota is a table: [namespace.NAME]");
  const bool is_any = name_space == api::kAnyNamespace;
  if (!is_any && !keys::check_namespace(name_space)) {
    return wrong(
        "a namespace is 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.', or \"*\" for the rest");
  }
  api::Quota quota;
  for (const auto& [name, value] : *table) {
    if (Result<void> ok = take_quota(name.str(), value, quota); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  if (is_any && quota.counts_items()) {
    return wrong("keys and bytes are counted for namespaces that are listed by name");
  }
  return quota;
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
    std::optional<std::string> text = text_of(key.substr(key.find('.') + 1), node);
    if (!text) return bad_file(file, key + " is neither a text, a number, true nor false");
    config.values_[key] = std::move(*text);
    return {};
  };
  for (const auto& [key, node] : parsed.table()) {
    const std::string name(key.str());
    const Command* command = node.is_table() ? find_command(name) : nullptr;
    if (is_of_the_server(name, node)) continue;
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

Result<api::Quotas> load_quotas(const std::string& file) {
  constexpr std::size_t kMostQuotas = 10'000;
  const toml::parse_result parsed = toml::parse_file(file);
  if (!parsed) return wrong(file + ": " + std::string(parsed.error().description()));
  const toml::node* const node = parsed.table().get("namespace");
  api::Quotas quotas;
  if (node == nullptr || !node->is_table()) return quotas;
  if (node->as_table()->size() > kMostQuotas) return wrong(file + ": more than 10000 namespaces");
  for (const auto& [name, value] : *node->as_table()) {
    Result<api::Quota> quota = quota_of(name.str(), value);
    if (!quota) {
      std::string message = file;
      message.append(": namespace ").append(name.str()).append(": ");
      return wrong(message.append(quota.error().message));
    }
    quotas.emplace(std::string(name.str()), *quota);
  }
  return quotas;
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

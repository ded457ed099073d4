#include "cli/config.h"

#define TOML_EXCEPTIONS 0  // NOLINT(readability-identifier-naming)
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/command.h"

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

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (!node.is_integer() && !node.is_boolean() && !node.is_floating_point()) return std::nullopt;
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return out.str();
}

// What is no option: `once serve` reads it.
bool is_of_the_server(std::string_view key) { return key == "route"; }

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

}  // namespace once::cli

#include "cli/invocation.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ranges>
#include <utility>

#include "base/printable_address.h"
#include "cli/config.h"
#include "cli/secrets.h"
#include "wire/text.h"

namespace once::cli {
namespace {

using Words = std::span<const std::string_view>;

const Option* find_option(const Verb& verb, std::string_view name) {
  for (const std::span<const Option> options : {verb.options, common_options()}) {
    const auto found = std::ranges::find(options, name, &Option::name);
    if (found != options.end()) return &*found;
  }
  return nullptr;
}

// There are no options of one dash, but a lone dash and negative numbers are words.
bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

// Takes the option at `at`, and its value if that is the next word.
Result<void> take_option(Words words, std::size_t& at, Invocation& invocation) {
  const std::string_view word = words[at];
  const std::size_t equals = word.find('=');
  const std::string_view shown = word.substr(0, equals);
  const Option* option =
      word.starts_with("--") ? find_option(*invocation.verb, shown.substr(2)) : nullptr;
  if (option == nullptr) return wrong("there is no option " + std::string(shown));
  std::string value = "true";
  if (equals != std::string_view::npos) {
    value = word.substr(equals + 1);
  } else if (option->kind != Option::Kind::flag) {
    // What looks like the next option is one: the value was forgotten, or was empty.
    ++at;
    if (at == words.size() || words[at].starts_with("--")) {
      return wrong(std::string(shown) + " needs a value");
    }
    value = words[at];
  }
  const auto [given, is_new] = invocation.options.emplace(option->name, value);
  if (is_new) return {};
  if (option->kind != Option::Kind::list) return wrong(std::string(shown) + " is given twice");
  given->second.append(",").append(value);
  return {};
}

Result<void> take_words(Words words, Invocation& invocation) {
  std::size_t at = 0;
  for (; at < words.size() && words[at] != "--"; ++at) {
    if (!is_option(words[at])) {
      invocation.words.emplace_back(words[at]);
    } else if (Result<void> ok = take_option(words, at, invocation); !ok) {
      return ok;
    }
  }
  invocation.own_words = invocation.words.size();
  for (++at; at < words.size(); ++at) invocation.words.emplace_back(words[at]);
  return {};
}

// The environment is ours alone: nothing here changes it, and there is one thread.
std::optional<std::string> from_environment(std::string_view option) {
  std::string name = "ONCE_";
  for (const char c : option) {
    name += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// The token, or the file that it is in, as the strongest place says that has either.
Result<void> take_token(const Config& config, Invocation& invocation) {
  struct Place {
    std::optional<std::string> token;
    std::optional<std::string> file;
  };
  const std::string_view command = invocation.command->name;
  const std::array places = {
      Place{invocation.option("token"), invocation.option("token-file")},
      Place{from_environment("token"), from_environment("token-file")},
      Place{config.find(command, "token"), config.find(command, "token-file")}};
  for (const auto& [token, file] : places) {
    if (token && file) return wrong("a token and a --token-file are given: which one is meant?");
    if (token) invocation.options.emplace("token", *token);
    if (token) return {};
    if (!file) continue;
    Result<std::string> held = token_in(*file);
    if (!held) return std::unexpected(std::move(held.error()));
    invocation.options.emplace("token", std::move(*held));
    return {};
  }
  return {};
}

Result<void> take_the_rest(Invocation& invocation) {
  std::optional<std::string> file = invocation.option("config");
  if (!file) file = from_environment("config");
  const Result<Config> config = file ? load_config(*file) : Config();
  if (!config) return std::unexpected(config.error());
  if (Result<void> ok = take_token(*config, invocation); !ok) return ok;
  for (const auto& options : {invocation.verb->options, common_options()}) {
    for (const Option& option : options) {
      std::optional<std::string> value = from_environment(option.name);
      if (!value) value = config->find(invocation.command->name, option.name);
      if (value) invocation.options.emplace(option.name, std::move(*value));
    }
  }
  return {};
}

Result<void> check_values(const Invocation& invocation) {
  for (const auto& [name, value] : invocation.options) {
    const Option* option = find_option(*invocation.verb, name);
    const bool is_flag = option->kind == Option::Kind::flag;
    if (is_flag && value != "true" && value != "false" && value != "1" && value != "0") {
      std::string problem = "--";
      problem.append(name).append(" is true or false, not '").append(value).append("'");
      return wrong(problem);
    }
    if (name == "if-store-down" && value != "proceed" && value != "refuse") {
      return wrong("--if-store-down is proceed or refuse, not '" + value + "'");
    }
  }
  return {};
}

Result<void> check_words(const Invocation& invocation) {
  const Verb& verb = *invocation.verb;
  const std::size_t count = invocation.words.size();
  if (count < verb.least) return wrong("it takes " + std::string(verb.words));
  if (count <= verb.most) return {};
  const std::string extra =
      "'" + printable_address(invocation.words[verb.most]) + "' is too much: it takes ";
  return wrong(extra + (verb.most == 0 ? "no words" : "only " + std::string(verb.words)));
}

}  // namespace

std::string name_of(const Command& command, const Verb& verb) {
  std::string name(command.name);
  if (!verb.name.empty()) name.append(" ").append(verb.name);
  return name;
}

std::optional<std::string> Invocation::option(std::string_view name) const {
  const auto found = options.find(name);
  return found != options.end() ? std::optional(found->second) : std::nullopt;
}

bool Invocation::flag(std::string_view name) const {
  const auto value = option(name);
  return value == "true" || value == "1";
}

Result<std::optional<std::int64_t>> Invocation::integer(std::string_view name) const {
  const auto text = option(name);
  if (!text) return std::nullopt;
  const auto value = api::parse_integer(*text);
  if (!value) return wrong("--" + std::string(name) + " is an integer, not '" + *text + "'");
  return value;
}

std::vector<std::string> Invocation::list(std::string_view name) const {
  std::vector<std::string> values;
  const std::string text = option(name).value_or("");
  for (const auto part : std::views::split(std::string_view(text), ',')) {
    std::string_view value(part.begin(), part.end());
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    if (!value.empty()) values.emplace_back(value);
  }
  return values;
}

Result<const Verb*> take_verb(const Command& command, Words& arguments) {
  const std::span<const Verb> verbs = command.verbs;
  if (verbs.size() == 1 && verbs[0].name.empty()) return verbs.data();
  std::string names;
  for (const Verb& verb : verbs) {
    if (!arguments.empty() && verb.name == arguments[0]) {
      arguments = arguments.subspan(1);
      return &verb;
    }
    names.append(names.empty() ? "" : &verb == &verbs.back() ? " or " : ", ").append(verb.name);
  }
  if (arguments.empty()) return wrong("it takes " + names);
  return wrong("there is no '" + std::string(arguments[0]) + "'; it takes " + names);
}

Result<Invocation> parse_arguments(const Command& command, const Verb& verb, Words arguments) {
  Invocation invocation{.command = &command, .verb = &verb, .words = {}, .options = {}};
  invocation.arguments.assign(arguments.begin(), arguments.end());
  Result<void> ok = take_words(arguments, invocation);
  if (ok) ok = take_the_rest(invocation);
  if (ok) ok = check_values(invocation);
  if (ok) ok = check_words(invocation);
  if (!ok) return std::unexpected(std::move(ok.error()));
  return invocation;
}

}  // namespace once::cli

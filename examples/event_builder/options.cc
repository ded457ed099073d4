#include "options.h"

#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

namespace event_builder {
namespace {

using once::Result;

std::unexpected<once::Error> wrong(std::string why) {
  return once::failure(once::ErrorCode::invalid, std::move(why));
}

// The number that a text begins with, and the rest.
std::pair<std::uint64_t, std::string_view> split(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = std::to_address(text.end());
  const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, value);
  if (error != std::errc()) return {0, "?"};
  return {value, text.substr(text.size() - static_cast<std::size_t>(end - stopped))};
}

Result<once::Duration> duration(const std::string& option, const std::string& text) {
  constexpr std::uint64_t kYears = 10ULL * 365 * 24 * 3'600'000;
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kUnits = {
      {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
  const auto [value, unit] = split(text);
  for (const auto& [name, ms] : kUnits) {
    if (unit == name && value > 0 && value <= kYears / ms) return once::Duration(value * ms);
  }
  return wrong(option + " is like 30s or 24h, not '" + text + "'");
}

Result<void> set(Options& options, const std::string& option, const std::string& text) {
  const auto number = [&](auto& target, std::uint64_t least, std::uint64_t most) -> Result<void> {
    const auto [value, rest] = split(text);
    if (!rest.empty() || value < least || value > most) {
      return wrong(option + " takes a number from " + std::to_string(least) + " to " +
                   std::to_string(most) + ", not '" + text + "'");
    }
    target = static_cast<std::remove_cvref_t<decltype(target)>>(value);
    return {};
  };
  const auto length = [&](once::Duration& target) -> Result<void> {
    const auto value = duration(option, text);
    if (!value) return std::unexpected(value.error());
    target = *value;
    return {};
  };
  if (option == "--concurrency") return number(options.concurrency, 1, 1'000);
  if (option == "--listen") return number(options.listen, 0, 65'535);
  if (option == "--count") return number(options.count, 1, 100'000);
  if (option == "--seed") return number(options.seed, 0, std::numeric_limits<std::uint32_t>::max());
  if (option == "--ttl") return length(options.ttl);
  if (option == "--lease") return length(options.lease);
  if (option != "--store") return wrong("there is no option " + option);
  options.store = text;
  return {};
}

Result<void> check(const Options& options) {
  if (options.role == "work" && options.queue.empty()) return wrong("work needs a queue");
  if (options.role == "work" && options.store.empty()) return wrong("work needs a --store");
  if (options.role != "work" && !options.queue.empty()) {
    return wrong("there is no '" + options.queue + "'");
  }
  return {};
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    if (word.starts_with("--")) {
      if (++i == words.size()) return wrong(word + " needs a value");
      const auto ok = set(options, word, words[i]);
      if (!ok) return std::unexpected(ok.error());
    } else if (options.role.empty() && (word == "work" || word == "serve" || word == "events")) {
      options.role = word;
    } else if (options.queue.empty()) {
      options.queue = word;
    } else {
      return wrong("there is no place for '" + word + "'");
    }
  }
  const auto ok = check(options);
  if (!ok) return std::unexpected(ok.error());
  return options;
}

std::string help() {
  return R"(event_builder: builds what CloudEvents ask for, once, though they come twice and builds fail

  event_builder [--store DIR]                   the whole story in one process, checked
  event_builder work QUEUE --store STORE        builds the events of a queue: amqp://broker/builds
  event_builder serve [--listen PORT]           builds what 'once serve --config once.toml' forwards
  event_builder events                          events to send, a line each

  --store STORE     a directory, memory:, http://host:7600, redis://host, dynamodb://table?region=...;
                    the story wants a directory, or makes a temporary one
  --ttl 24h         how long an event of the queue is known; a queue for each type has its own
  --lease 30s       how long other builders wait when this one dies
  --concurrency 4   builds at once
  --listen 8080     a port of this machine's own address
  --count 80        events
  --seed 1          of the events, and of what goes wrong in the story

Example: event_builder
)";
}

}  // namespace event_builder

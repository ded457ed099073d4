#include "cli/serving_options.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <string>

#include "wire/text.h"

namespace once::cli {

Result<void> read_count(const Invocation& invocation, std::string_view name, std::int64_t most,
                        std::size_t& value) {
  const auto given = invocation.integer(name);
  if (!given) return std::unexpected(given.error());
  if (!*given) return {};
  if (**given < 1 || **given > most) {
    std::string message = "--";
    message.append(name).append(" is 1 to ").append(std::to_string(most));
    return failure(ErrorCode::invalid, std::move(message));
  }
  value = static_cast<std::size_t>(**given);
  return {};
}

Result<void> read_duration(const Invocation& invocation, std::string_view name, Duration most,
                           Duration& value) {
  const auto text = invocation.option(name);
  if (!text) return {};
  const std::optional<Duration> given = api::parse_duration_or_seconds(*text);
  if (!given || *given < Duration(1) || *given > most) {
    std::string message = "--";
    message.append(name).append(" is not a duration such as 30s, or too long: ").append(*text);
    return failure(ErrorCode::invalid, std::move(message));
  }
  value = *given;
  return {};
}

net::TlsFiles tls_files(const Invocation& invocation) {
  return {.certificate = invocation.option("tls-cert").value_or(""),
          .key = invocation.option("tls-key").value_or(""),
          .authorities = invocation.option("tls-client-ca").value_or("")};
}

Result<void> read_connections(const Invocation& invocation, server::Settings& settings) {
  constexpr std::int64_t kMost = 1'000'000;
  Result<void> ok = read_count(invocation, "max-connections", kMost, settings.max_connections);
  if (ok) {
    ok = read_count(invocation, "max-connections-per-address", kMost,
                    settings.max_connections_per_address);
  }
  if (!ok) return ok;
  return read_duration(invocation, "handshake-timeout", std::chrono::minutes(5),
                       settings.handshake);
}

std::vector<std::string> changes(const Invocation& now, const Invocation& fresh) {
  std::set<std::string> names;
  for (const auto& [name, value] : now.options) {
    if (fresh.option(name) != value) names.insert(name);
  }
  for (const auto& [name, value] : fresh.options) {
    if (now.option(name) != value) names.insert(name);
  }
  return {names.begin(), names.end()};
}

Result<Invocation> parse_again(const Invocation& now, Names reloadable) {
  const std::vector<std::string_view> words(now.arguments.begin(), now.arguments.end());
  Result<Invocation> fresh = parse_arguments(*now.command, *now.verb, words);
  if (!fresh) return fresh;
  for (const std::string& name : changes(now, *fresh)) {
    if (std::ranges::find(reloadable, name) != reloadable.end()) continue;
    return failure(ErrorCode::invalid, "--" + name + " has changed, and counts at the start only");
  }
  return fresh;
}

void announce(const std::string& line) { std::cout << line << '\n' << std::flush; }

Result<server::JournalOptions> journal_of(const Invocation& invocation) {
  const auto log = invocation.option("log");
  if (log && *log != "text" && *log != "json") {
    return failure(ErrorCode::invalid, "--log is text or json");
  }
  server::JournalOptions options{.write = server::write_to_stderr};
  if (log) options.least = server::Level::info;
  if (log == "json") options.format = server::JournalOptions::Format::json;
  return options;
}

}  // namespace once::cli

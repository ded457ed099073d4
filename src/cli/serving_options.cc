#include "cli/serving_options.h"

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
  const std::optional<Duration> given = api::parse_duration(*text);
  if (!given || *given < Duration(1) || *given > most) {
    std::string message = "--";
    message.append(name).append(" is not a duration such as 30s, or too long: ").append(*text);
    return failure(ErrorCode::invalid, std::move(message));
  }
  value = *given;
  return {};
}

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

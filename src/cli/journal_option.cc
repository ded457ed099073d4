#include "cli/journal_option.h"

namespace once::cli {

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

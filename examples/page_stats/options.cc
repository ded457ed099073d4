#include "options.h"

#include <charconv>
#include <limits>

#include "view.h"

namespace page_stats {
namespace {

once::Result<std::uint64_t> number(const std::string& option, const std::string& text,
                                   std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.c_str() + text.size();
  const auto [stopped, wrong] = std::from_chars(text.c_str(), end, value);
  if (wrong == std::errc() && stopped == end && value >= least && value <= most) return value;
  return once::failure(once::ErrorCode::invalid, option + " takes a number from " +
                                                     std::to_string(least) + " to " +
                                                     std::to_string(most) + ", not '" + text + "'");
}

// Takes `text` as the value of `option`.
once::Result<void> set(Options& options, const std::string& option, const std::string& text) {
  const auto whole = [&](auto& target, std::uint64_t least,
                         std::uint64_t most) -> once::Result<void> {
    const auto value = number(option, text, least, most);
    if (!value) return std::unexpected(value.error());
    target = std::remove_cvref_t<decltype(target)>(*value);
    return {};
  };
  if (option == "--views") return whole(options.views, 1, 99'999);
  if (option == "--threads") return whole(options.threads, 1, 64);
  if (option == "--seed") return whole(options.seed, 0, std::numeric_limits<std::uint32_t>::max());
  if (option == "--from") return whole(options.from, 0, 23);
  if (option == "--to") return whole(options.to, 1, 24);
  if (option == "--store") {
    options.store = text;
  } else if (option == "--chart") {
    options.chart = text;
  } else if (option == "--day") {
    options.day = parse_day(text);
    if (!options.day) {
      return once::failure(once::ErrorCode::invalid,
                           "--day is like 2026-11-15, not '" + text + "'");
    }
  } else {
    return once::failure(once::ErrorCode::invalid, "there is no option " + option);
  }
  return {};
}

bool is_role(const std::string& word) {
  return word == "generate" || word == "count" || word == "query" || word == "chart";
}

once::Result<void> check(const Options& options) {
  const auto wrong = [](const char* what) { return once::failure(once::ErrorCode::invalid, what); };
  const std::size_t most = options.role == "count" ? 1 : options.role == "query" ? 200 : 0;
  if (options.role.empty() && !options.words.empty()) {
    return once::failure(once::ErrorCode::invalid, "there is no '" + options.words[0] + "'");
  }
  if (options.words.size() > most) return wrong("there are more arguments than can be used");
  if (options.from >= options.to) return wrong("--from is not before --to");
  const bool needs_store = !options.role.empty() && options.role != "generate";
  if (needs_store && options.store.empty()) return wrong("it needs a --store");
  return {};
}

}  // namespace

once::Result<Options> parse_options(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--help" || words[i] == "-h") {
      options.help = true;
      return options;
    }
    if (words[i].starts_with("--")) {
      if (i + 1 == words.size()) {
        return once::failure(once::ErrorCode::invalid, words[i] + " needs a value");
      }
      const auto ok = set(options, words[i], words[i + 1]);
      if (!ok) return std::unexpected(ok.error());
      ++i;
    } else if (options.role.empty() && is_role(words[i])) {
      options.role = words[i];
    } else {
      options.words.push_back(words[i]);
    }
  }
  const auto ok = check(options);
  if (!ok) return std::unexpected(ok.error());
  return options;
}

std::string help() {
  return R"(page_stats: views of pages, delivered at least once, each counted once

  page_stats [--store STORE] [--chart FILE]     the whole story in one process, checked
  page_stats generate > views.jsonl             a day of views, as an unreliable queue delivers them
  page_stats count [FILE] --store STORE         counts the views of a file, or of standard input
  page_stats query [PAGE...] --store STORE      views, visitors and slowest answers, in one query
  page_stats chart --store STORE > day.svg      the day as a picture

  --store STORE    a directory, memory:, http://host:7600, dynamodb://table?region=..., redis://host;
                   the story makes a temporary directory if there is none
  --day DAY        like 2026-11-15; yesterday (UTC), if not given
  --from, --to H   hours of the day to ask for: 0 to 24
  --views N        to generate: 5000
  --seed N         of what is generated: 1
  --threads N      that count: 4
  --chart FILE     where the story leaves its picture

Example: page_stats --chart day.svg
)";
}

}  // namespace page_stats

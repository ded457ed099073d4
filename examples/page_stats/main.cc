// page_stats: what to read first is effects_of() in count.cc.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "chart.h"
#include "count.h"
#include "generate.h"
#include "once/open.h"
#include "program.h"
#include "read.h"
#include "story.h"
#include "temporary_directory.h"

namespace {

using namespace page_stats;

using examples::Arguments;
using examples::BadUsage;

constexpr std::string_view kHelp =
    R"(page_stats: views of pages, delivered at least once, each counted once

  page_stats [--store STORE] [--chart FILE]     the whole story in one process, checked
  page_stats generate > views.jsonl             a day of views, as an unreliable queue delivers them
  page_stats count [FILE] --store STORE         counts the views of a file, or of standard input
  page_stats query [PAGE...] --store STORE      views, visitors and slowest answers, in one query
  page_stats chart --store STORE > day.svg      the day as a picture

  --store STORE    a directory, memory:, http://host:7600, dynamodb://table?region=..., redis://host;
                   without it, the story makes a temporary directory
  --day DAY        like 2026-11-15; yesterday (UTC), if not given
  --from, --to H   hours of the day to ask for: 0 to 24
  --views N        to generate: 5000
  --seed N         of what is generated: 1
  --threads N      that count: 4
  --chart FILE     where the story leaves its picture

Example: page_stats --chart day.svg
)";
constexpr examples::Program kProgram("page_stats", kHelp);

std::chrono::sys_days day_of(Arguments& arguments) {
  const std::optional<std::string> text = arguments.option("--day");
  if (!text) {
    const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    return today - std::chrono::days(1);
  }
  const std::optional<std::chrono::sys_days> day = parse_day(*text);
  if (!day) throw BadUsage("--day is like 2026-11-15, not '" + *text + "'");
  return *day;
}

Day generated_day(Arguments& arguments) {
  return {.day = day_of(arguments),
          .views = arguments.number<std::size_t>("--views", 5'000, 1, 99'999),
          .seed = arguments.seed()};
}

std::size_t threads_of(Arguments& arguments) {
  return arguments.number<std::size_t>("--threads", 4, 1, 64);
}

once::Result<once::Once> open_store(const std::string& store) {
  return once::open(store, "page_stats");
}

int run_generate(Arguments& arguments) {
  const Day day = generated_day(arguments);
  arguments.end();
  for (const View& view : deliver_at_least_once(generate(day), day.seed)) {
    std::printf("%s\n", to_json(view).c_str());
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}

int run_count(Arguments& arguments) {
  const std::string store = arguments.needed("--store");
  const std::size_t threads = threads_of(arguments);
  const std::string file = arguments.has_words() ? arguments.word("the file") : "-";
  arguments.end();
  std::ifstream in;
  if (file != "-") in.open(file);
  if (!in) throw BadUsage("there is no file " + file + " to read");
  const auto views = read_views(file == "-" ? std::cin : in);
  if (!views) return kProgram.fail(views.error());
  auto once = open_store(store);
  if (!once) return kProgram.fail(once.error());
  const auto counted = count(*once, *views, threads);
  if (!counted) return kProgram.fail(counted.error());
  std::printf("counted %s views; %s deliveries were known already\n",
              with_commas(static_cast<std::int64_t>(counted->counted)).c_str(),
              with_commas(static_cast<std::int64_t>(counted->known)).c_str());
  return 0;
}

int run_query(Arguments& arguments) {
  constexpr std::size_t kMostPages = 200;
  const std::string store = arguments.needed("--store");
  const std::chrono::sys_days day = day_of(arguments);
  const std::chrono::hours from(arguments.number("--from", 0, 0, 23));
  const std::chrono::hours to(arguments.number("--to", 24, 1, 24));
  std::vector<std::string> pages;
  while (arguments.has_words() && pages.size() < kMostPages) {
    pages.push_back(arguments.word("the page"));
  }
  arguments.end();
  if (from >= to) throw BadUsage("--from is not before --to");
  auto once = open_store(store);
  if (!once) return kProgram.fail(once.error());
  const auto table = query(*once, day, from, to, std::move(pages));
  if (!table) return kProgram.fail(table.error());
  std::fputs(table->c_str(), stdout);
  return 0;
}

int run_chart(Arguments& arguments) {
  const std::string store = arguments.needed("--store");
  const std::chrono::sys_days day = day_of(arguments);
  arguments.end();
  auto once = open_store(store);
  if (!once) return kProgram.fail(once.error());
  const auto data = read_chart(*once, day);
  if (!data) return kProgram.fail(data.error());
  std::fputs(draw(*data).c_str(), stdout);
  return 0;
}

once::Result<void> leave_chart(once::Once& once, const Day& day, const std::string& path) {
  const auto data = read_chart(once, day.day);
  if (!data) return std::unexpected(data.error());
  std::ofstream file(path);
  if (!(file << draw(*data)).flush()) {
    return once::failure(once::ErrorCode::invalid, path + " cannot be written");
  }
  std::printf("The day is in %s\n", path.c_str());
  return {};
}

int run_story(Arguments& arguments) {
  const std::optional<std::string> store = arguments.option("--store");
  const std::optional<std::string> chart = arguments.option("--chart");
  const std::size_t threads = threads_of(arguments);
  const Day day = generated_day(arguments);
  arguments.end();
  const examples::TemporaryDirectory directory;
  // Nobody wants it back after a power failure: it need not be synced before every answer.
  auto once =
      open_store(store.value_or("rocksdb:" + directory.path().string() + "?durability=relaxed"));
  if (!once) return kProgram.fail(once.error());
  const int status = kProgram.status_of(tell_story(*once, day, threads));
  if (status != 0 || !chart) return status;
  return kProgram.status_of(leave_chart(*once, day, *chart));
}

int run(Arguments& arguments) {
  if (!arguments.has_words()) return run_story(arguments);
  const std::string verb = arguments.word("what to do");
  if (verb == "generate") return run_generate(arguments);
  if (verb == "count") return run_count(arguments);
  if (verb == "query") return run_query(arguments);
  if (verb == "chart") return run_chart(arguments);
  throw BadUsage("there is no '" + verb + "'");
}

}  // namespace

int main(int argc, char** argv) { return kProgram.main(argc, argv, run); }

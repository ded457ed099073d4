// page_stats: what to read first is effects_of() in count.cc.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "chart.h"
#include "count.h"
#include "generate.h"
#include "once/open.h"
#include "options.h"
#include "read.h"
#include "story.h"

namespace page_stats {
namespace {

using once::ErrorCode;
using once::failure;
using once::Result;

std::chrono::sys_days yesterday() {
  return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()) -
         std::chrono::days(1);
}

Day day_of(const Options& options) {
  return {.day = options.day.value_or(yesterday()), .views = options.views, .seed = options.seed};
}

void run_generate(const Options& options) {
  const Day day = day_of(options);
  for (const View& view : deliver_at_least_once(generate(day), day.seed)) {
    std::printf("%s\n", to_json(view).c_str());
  }
}

Result<std::vector<View>> views_of(const Options& options) {
  if (options.words.empty() || options.words[0] == "-") return read_views(std::cin);
  std::ifstream file(options.words[0]);
  if (!file) return failure(ErrorCode::invalid, options.words[0] + " cannot be read");
  return read_views(file);
}

Result<void> run_count(once::Once& once, const Options& options) {
  const auto views = views_of(options);
  if (!views) return std::unexpected(views.error());
  const auto counted = count(once, *views, options.threads);
  if (!counted) return std::unexpected(counted.error());
  std::printf("counted %s views; %s deliveries were known already\n",
              with_commas(static_cast<std::int64_t>(counted->counted)).c_str(),
              with_commas(static_cast<std::int64_t>(counted->known)).c_str());
  return {};
}

Result<void> run_query(once::Once& once, const Options& options) {
  const auto table = query(once, day_of(options).day, options.from, options.to, options.words);
  if (!table) return std::unexpected(table.error());
  std::fputs(table->c_str(), stdout);
  return {};
}

Result<void> run_chart(once::Once& once, const Options& options) {
  const auto data = read_chart(once, day_of(options).day);
  if (!data) return std::unexpected(data.error());
  std::fputs(draw(*data).c_str(), stdout);
  return {};
}

Result<bool> run_story(once::Once& once, const Options& options) {
  const Day day = day_of(options);
  auto right = tell_story(once, day, options.threads);
  if (!right || options.chart.empty()) return right;
  const auto data = read_chart(once, day.day);
  if (!data) return std::unexpected(data.error());
  std::ofstream file(options.chart);
  if (!(file << draw(*data)).flush()) {
    return failure(ErrorCode::invalid, options.chart + " cannot be written");
  }
  std::printf("The day is in %s\n", options.chart.c_str());
  return right;
}

// Whether all is well; what is not is told already.
Result<bool> run(const Options& options, const std::string& store) {
  auto once = once::open(store, "page_stats");
  if (!once) return std::unexpected(once.error());
  if (options.role.empty()) return run_story(*once, options);
  const Result<void> ok = options.role == "count"   ? run_count(*once, options)
                          : options.role == "query" ? run_query(*once, options)
                                                    : run_chart(*once, options);
  if (!ok) return std::unexpected(ok.error());
  return true;
}

Result<bool> run_in_temporary_directory(const Options& options) {
  std::string name = (std::filesystem::temp_directory_path() / "page_stats-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    return failure(ErrorCode::unavailable, "no temporary directory can be made");
  }
  // Nobody wants it back after a power failure: it need not be synced before every answer.
  auto right = run(options, "rocksdb:" + name + "?durability=relaxed");
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
  return right;
}

int run_main(int argc, char** argv) {
  const Result<Options> options = parse_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "page_stats: %s; see page_stats --help\n",
                 options.error().message.c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(help().c_str(), stdout);
    return 0;
  }
  if (options->role == "generate") {
    run_generate(*options);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  const Result<bool> right =
      options->store.empty() ? run_in_temporary_directory(*options) : run(*options, options->store);
  if (!right) std::fprintf(stderr, "page_stats: %s\n", right.error().message.c_str());
  return right && *right ? 0 : 1;
}

}  // namespace
}  // namespace page_stats

int main(int argc, char** argv) { return page_stats::run_main(argc, argv); }

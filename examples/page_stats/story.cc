#include "story.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "count.h"
#include "read.h"

namespace page_stats {
namespace {

using namespace std::chrono;

// What one window really had.
struct Truth {
  std::int64_t views = 0;
  std::int64_t slowest = 0;
  std::set<std::string> visitors;
  std::map<std::string, std::uint64_t> pages;

  void add(const View& view) {
    ++views;
    slowest = std::max(slowest, view.ms);
    visitors.insert(view.visitor);
    ++pages[view.page];
  }
};
using Windows = std::map<once::Time, Truth>;  // By when they begin.

Windows windows_of(const std::vector<View>& views, once::Duration length) {
  Windows windows;
  for (const View& view : views) {
    windows[view.time - view.time.time_since_epoch() % length].add(view);
  }
  return windows;
}

// By how much a number of different visitors is off, in percent.
double error_of(const Stats& stats, const Truth& truth) {
  const auto real = static_cast<double>(truth.visitors.size());
  return 100 * std::abs(static_cast<double>(stats.visitors) - real) / real;
}

// Views, the slowest and the pages are exact; visitors are an estimate of 0.81 % standard error.
bool is_right(const Stats& stats, const Truth& truth) {
  constexpr double kFourDeviations = 3.3;
  const auto page_is_right = [&](const once::HeavyItem& page) {
    const auto real = truth.pages.find(page.item);
    return real != truth.pages.end() && page.count == real->second && page.error == 0;
  };
  return stats.views == truth.views && stats.slowest == truth.slowest &&
         error_of(stats, truth) <= kFourDeviations && stats.pages.size() == truth.pages.size() &&
         std::ranges::all_of(stats.pages, page_is_right);
}

struct Kind {
  const char* name;
  once::TallyWindow window;
  once::Duration length;
};

once::Result<bool> check(once::Once& once, const std::vector<View>& views, const Kind& kind) {
  const Windows windows = windows_of(views, kind.length);
  std::size_t right = 0;
  double worst = 0;
  for (const auto& [begin, truth] : windows) {
    const auto stats = read_stats(once, kSite, kind.window, {begin, begin + kind.length});
    if (!stats) return std::unexpected(stats.error());
    right += is_right(*stats, truth) ? 1 : 0;
    worst = std::max(worst, error_of(*stats, truth));
  }
  std::printf("  %-9s %s of %s are right; distinct visitors are at most %.1f %% off\n", kind.name,
              with_commas(static_cast<std::int64_t>(right)).c_str(),
              with_commas(static_cast<std::int64_t>(windows.size())).c_str(), worst);
  return right == windows.size();
}

void print_day(const Stats& day) {
  std::printf("  %-9s %s views by about %s visitors, the slowest answer took %s ms\n", "the day",
              with_commas(day.views).c_str(), with_commas(day.visitors).c_str(),
              with_commas(day.slowest.value_or(0)).c_str());
  std::printf("  %-9s", "top pages");
  for (std::size_t i = 0; i < std::min<std::size_t>(day.pages.size(), 4); ++i) {
    std::printf("%s %s %s", i == 0 ? "" : ",", day.pages[i].item.c_str(),
                with_commas(static_cast<std::int64_t>(day.pages[i].count)).c_str());
  }
  std::printf("\n");
}

}  // namespace

once::Result<bool> tell_story(once::Once& once, const Day& day, std::size_t threads) {
  const std::vector<View> views = generate(day);
  const std::vector<View> delivered = deliver_at_least_once(views, day.seed);
  std::printf("%s: %s views, delivered %s times to %zu counters, out of order\n",
              to_text(day.day).c_str(),
              with_commas(static_cast<std::int64_t>(views.size())).c_str(),
              with_commas(static_cast<std::int64_t>(delivered.size())).c_str(), threads);
  const auto counted = count(once, delivered, threads);
  if (!counted) return std::unexpected(counted.error());
  std::printf("  %-9s %s views; %s deliveries were known already and changed nothing\n", "counted",
              with_commas(static_cast<std::int64_t>(counted->counted)).c_str(),
              with_commas(static_cast<std::int64_t>(counted->known)).c_str());
  bool right = true;
  for (const Kind& kind : {Kind{"minutes", once::TallyWindow::minute, minutes(1)},
                           Kind{"hours", once::TallyWindow::hour, hours(1)},
                           Kind{"days", once::TallyWindow::day, days(1)}}) {
    const auto all = check(once, views, kind);
    if (!all) return std::unexpected(all.error());
    right = right && *all;
  }
  const auto stats = read_stats(once, kSite, once::TallyWindow::day, {day.day, day.day + days(1)});
  if (!stats) return std::unexpected(stats.error());
  print_day(*stats);
  std::printf("%s\n",
              right ? "Each view counts once, in every window." : "SOME NUMBERS ARE WRONG.");
  return right;
}

}  // namespace page_stats

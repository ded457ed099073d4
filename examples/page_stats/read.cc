#include "read.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace page_stats {
namespace {

using namespace std::chrono_literals;
using Readings = std::span<const std::optional<once::TallyReading>>;

constexpr std::array kWhat = {"views", "visitors", "slowest", "pages"};

// A tally that nobody merged into is not there: as with an empty one, T says what that means.
template <class T>
T value_of(const std::optional<once::TallyReading>& reading) {
  const T* const value = reading ? std::get_if<T>(&reading->value) : nullptr;
  return value != nullptr ? *value : T();
}

Stats stats_of(Readings readings) {
  Stats stats{.views = value_of<std::int64_t>(readings[0]),
              .visitors = value_of<std::int64_t>(readings[1]),
              .slowest = std::nullopt,
              .pages = value_of<std::vector<once::HeavyItem>>(readings[3])};
  // The greatest of nothing is read as no number at all.
  if (readings[2] && std::holds_alternative<std::int64_t>(readings[2]->value)) {
    stats.slowest = std::get<std::int64_t>(readings[2]->value);
  }
  return stats;
}

std::string row(const std::string& name, const std::string& views, const std::string& visitors,
                const std::string& slowest) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), "%-36s %8s %9s %10s\n", name.c_str(), views.c_str(),
                visitors.c_str(), slowest.c_str());
  return text.data();
}

std::string row(const std::string& name, const Stats& stats) {
  return row(name, with_commas(stats.views), with_commas(stats.visitors),
             stats.slowest ? with_commas(*stats.slowest) + " ms" : "-");
}

std::string clock(std::chrono::hours hour) {
  return (hour < 10h ? "0" : "") + std::to_string(hour.count()) + ":00";
}

}  // namespace

once::Result<std::vector<Stats>> read_stats(once::Once& once, std::span<const std::string> subjects,
                                            once::TallyWindow window,
                                            const once::TallyRange& range) {
  std::vector<std::string> names;
  for (const std::string& subject : subjects) {
    for (const char* const what : kWhat) names.push_back(tally_name(subject, what, window));
  }
  const auto readings = once.tallies().read_all(names, range);
  if (!readings) return std::unexpected(readings.error());
  std::vector<Stats> stats;
  for (std::size_t i = 0; i < names.size(); i += kWhat.size()) {
    stats.push_back(stats_of(Readings(*readings).subspan(i, kWhat.size())));
  }
  return stats;
}

once::Result<Stats> read_stats(once::Once& once, std::string_view subject, once::TallyWindow window,
                               const once::TallyRange& range) {
  const std::array subjects = {std::string(subject)};
  auto stats = read_stats(once, subjects, window, range);
  if (!stats) return std::unexpected(stats.error());
  return std::move(stats->front());
}

once::Result<std::string> query(once::Once& once, std::chrono::sys_days day,
                                std::chrono::hours from, std::chrono::hours to,
                                std::vector<std::string> pages) {
  if (pages.empty()) {
    const auto site = read_stats(once, kSite, once::TallyWindow::day, {day, day + 24h});
    if (!site) return std::unexpected(site.error());
    for (const once::HeavyItem& page : site->pages) pages.push_back(page.item);
    pages.resize(std::min<std::size_t>(pages.size(), 20));
  }
  std::vector<std::string> subjects = {std::string(kSite)};
  subjects.insert(subjects.end(), pages.begin(), pages.end());
  const auto stats = read_stats(once, subjects, once::TallyWindow::hour, {day + from, day + to});
  if (!stats) return std::unexpected(stats.error());
  std::string text =
      row(to_text(day) + ", " + clock(from) + " to " + clock(to), "views", "visitors", "slowest");
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    text += row(i == 0 ? "the whole site" : subjects[i], (*stats)[i]);
  }
  return text;
}

}  // namespace page_stats

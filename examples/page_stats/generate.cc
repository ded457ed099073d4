#include "generate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>

namespace page_stats {
namespace {

using namespace std::chrono;

// Numbers by themselves: what <random> makes of an engine differs between standard libraries.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  double roll() { return (static_cast<double>(engine_()) + 0.5) / 4294967296.0; }  // In (0, 1).
  std::size_t below(std::size_t count) {
    return std::min(static_cast<std::size_t>(roll() * static_cast<double>(count)), count - 1);
  }
  double normal() {
    return std::sqrt(-2 * std::log(roll())) * std::cos(6.283185307179586 * roll());
  }

 private:
  std::mt19937 engine_;
};

// How busy the site is: asleep at night, a hill before noon, one in the evening, and a newsletter
// at half past two that people open at once.
double traffic(double hour) {
  const auto hill = [hour](double when, double width) {
    return std::exp(-(hour - when) * (hour - when) / (2 * width * width));
  };
  const double newsletter = hour < 14.5 ? 0 : 1.6 * std::exp(-(hour - 14.5) / 0.35);
  return 0.06 + hill(10.5, 2.2) + 0.85 * hill(20.2, 1.9) + 0.35 * hill(15, 2.5) + newsletter;
}

constexpr double kBusiest = 2.4;  // Above every value of traffic().

milliseconds time_of_day(Dice& dice) {
  for (;;) {
    const double hour = 24 * dice.roll();
    if (kBusiest * dice.roll() < traffic(hour)) {
      return milliseconds(static_cast<std::int64_t>(hour * 3'600'000));
    }
  }
}

struct Page {
  const char* path;
  double weight;  // How often it is asked for,
  double ms;      // and what it usually takes.
};
constexpr std::array<Page, 14> kPages = {{{"/", 30, 60},
                                          {"/pricing", 13, 80},
                                          {"/docs/start", 11, 70},
                                          {"/blog/exactly-what-you-asked", 9, 90},
                                          {"/docs/claims", 7, 75},
                                          {"/search", 6, 310},
                                          {"/docs/tallies", 5, 75},
                                          {"/download", 4.5, 65},
                                          {"/blog", 3.5, 95},
                                          {"/about", 2.5, 55},
                                          {"/docs/effects", 2.2, 75},
                                          {"/login", 2, 140},
                                          {"/account/invoices", 1.3, 420},
                                          {"/imprint", 0.7, 50}}};

const Page& choose_page(Dice& dice) {
  double total = 0;
  for (const Page& page : kPages) total += page.weight;
  double rest = dice.roll() * total;
  for (const Page& page : kPages) {
    rest -= page.weight;
    if (rest < 0) return page;
  }
  return kPages.front();
}

// A page answers in its usual time, give or take, later when the site is busy; one in 150 hangs.
std::int64_t response_time(const Page& page, double busy, Dice& dice) {
  double ms = page.ms * (1 + busy / 2) * std::exp(0.45 * dice.normal());
  if (dice.roll() < 1 / 150.0) ms *= 4 + 8 * dice.roll();
  return std::max<std::int64_t>(1, std::llround(ms));
}

// Half of all views are of regulars, who are a tenth of all visitors.
std::string choose_visitor(std::size_t views, Dice& dice) {
  const std::size_t regulars = std::max<std::size_t>(views / 30, 1);
  const bool regular = dice.roll() < 0.5;
  const std::size_t who = regular ? dice.below(regulars) : regulars + dice.below(9 * regulars);
  return "v-" + std::to_string(who);
}

}  // namespace

std::vector<View> generate(const Day& day) {
  Dice dice(day.seed);
  std::vector<milliseconds> times(day.views);
  for (auto& time : times) time = time_of_day(dice);
  std::ranges::sort(times);
  std::vector<View> views;
  for (std::size_t i = 0; i < day.views; ++i) {
    const Page& page = choose_page(dice);
    const double busy = traffic(duration<double, hours::period>(times[i]).count());
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "/%05zu", i);
    views.push_back({to_text(day.day) + number.data(), day.day + times[i], page.path,
                     choose_visitor(day.views, dice), response_time(page, busy, dice)});
  }
  return views;
}

std::vector<View> deliver_at_least_once(const std::vector<View>& views, std::uint32_t seed) {
  constexpr double kLate = 200;  // By so many places, at most, is a delivery late.
  Dice dice(seed);
  std::vector<std::pair<double, std::size_t>> due;
  for (std::size_t i = 0; i < views.size(); ++i) {
    do {
      due.emplace_back(static_cast<double>(i) + kLate * dice.roll(), i);
    } while (dice.roll() < 0.2);
  }
  std::ranges::sort(due);
  std::vector<View> delivered;
  delivered.reserve(due.size());
  for (const auto& [when, i] : due) delivered.push_back(views[i]);
  return delivered;
}

}  // namespace page_stats

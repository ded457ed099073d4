#include "chart.h"

#include <algorithm>
#include <cmath>

#include "svg.h"

namespace page_stats {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostPages = 12;

// Where things are.
constexpr Point kSize = {1080, 760};
constexpr double kLeft = 72;    // Of the panels,
constexpr double kRight = 690;  // whose width is the day.
constexpr double kListLeft = 750;
constexpr double kListRight = 1040;

constexpr const char* kInk = "#0f172a";
constexpr const char* kQuiet = "#64748b";
constexpr const char* kViews = "#4f46e5";
constexpr const char* kVisitors = "#0d9488";
constexpr const char* kSlow = "#ea580c";

std::string ink(const char* colour, int size, const std::string& more = "") {
  return std::string("fill=\"") + colour + "\" font-size=\"" + std::to_string(size) + "\" " + more;
}

double x_at(double hour) { return kLeft + (kRight - kLeft) * hour / 24; }

std::string clock(std::size_t minutes) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%02zu:%02zu", minutes / 60 % 100, minutes % 60);
  return text.data();
}

// A round number of which about `wanted` reach `most`.
double step_for(double most, double wanted) {
  const double rough = std::max(most / wanted, 1.0);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    const double step = factor * power;
    if (step >= rough && step == std::floor(step)) return step;
  }
  return 10 * power;
}

// One of the panels above each other: its scale, its grid and the hours beneath it.
class Panel {
 public:
  Panel(Svg& svg, double top, double bottom, double most)
      : svg_(svg),
        top_(top),
        bottom_(bottom),
        step_(step_for(most, (bottom - top) / 45)),
        most_(step_ * std::max(1.0, std::ceil(most / step_))) {}

  double y_at(double value) const { return bottom_ - (bottom_ - top_) * value / most_; }

  void frame(std::string_view title, const char* colour) const {
    svg_.text({kLeft, top_ - 22}, title, ink(colour, 14, R"(font-weight="600")"));
    for (double value = 0; value <= most_; value += step_) {
      const double y = y_at(value);
      svg_.line({kLeft, y}, {kRight, y},
                value == 0 ? R"(stroke="#94a3b8")" : R"(stroke="#e2e8f0")");
      svg_.text({kLeft - 10, y + 4}, with_commas(std::llround(value)),
                ink(kQuiet, 12, R"(text-anchor="end")"));
    }
    for (std::size_t hour = 0; hour <= 24; hour += 3) {
      const double x = x_at(static_cast<double>(hour));
      svg_.line({x, bottom_}, {x, bottom_ + 5}, R"(stroke="#94a3b8")");
      svg_.text({x, bottom_ + 19}, clock(hour * 60), ink(kQuiet, 12, R"(text-anchor="middle")"));
    }
  }

  // A number beside what it is about, wherever that leaves room.
  void label(Point at, const std::string& words, const char* colour) const {
    const bool near_right = at.x > kRight - 130;
    svg_.text({at.x + (near_right ? -9 : 9), std::max(at.y + 4, top_ + 4)}, words,
              ink(colour, 12,
                  std::string(R"(font-weight="600" text-anchor=")") +
                      (near_right ? "end\"" : "start\"")));
  }

 private:
  Svg& svg_;
  const double top_;
  const double bottom_;
  const double step_;
  const double most_;
};

std::string at(Point point) { return Svg::number(point.x) + " " + Svg::number(point.y); }

// Views as an area under a line, with the busiest ten minutes by name.
void draw_views(Svg& svg, const ChartData& data) {
  const auto peak = std::ranges::max_element(data.views);
  const Panel panel(svg, 140, 350, static_cast<double>(*peak));
  panel.frame("Views in ten minutes", kViews);
  std::string line;
  for (std::size_t i = 0; i < data.views.size(); ++i) {
    const Point point = {x_at((static_cast<double>(i) + 0.5) / 6),
                         panel.y_at(static_cast<double>(data.views[i]))};
    line += (i == 0 ? "M" : " L") + at(point);
  }
  const std::string begin = "M" + at({x_at(0.5 / 6), panel.y_at(0)}) + " L" + line.substr(1);
  svg.path(begin + " L" + at({x_at(24 - 0.5 / 6), panel.y_at(0)}) + " Z", "fill=\"url(#views)\"");
  svg.path(line,
           std::string("fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke=\"") +
               kViews + "\"");
  if (*peak == 0) return;
  const auto slot = static_cast<std::size_t>(peak - data.views.begin());
  const Point top = {x_at((static_cast<double>(slot) + 0.5) / 6),
                     panel.y_at(static_cast<double>(*peak))};
  svg.circle(top, 4, std::string("stroke=\"#ffffff\" stroke-width=\"2\" fill=\"") + kViews + "\"");
  panel.label(top, with_commas(*peak) + " at " + clock(slot * 10), kViews);
}

// Different visitors as a bar for each hour.
void draw_visitors(Svg& svg, const ChartData& data) {
  const auto peak = std::ranges::max_element(data.hours, {}, &Stats::visitors);
  const Panel panel(svg, 430, 530, static_cast<double>(peak->visitors));
  panel.frame("Different visitors in an hour", kVisitors);
  const double width = (kRight - kLeft) / 24;
  for (std::size_t hour = 0; hour < data.hours.size(); ++hour) {
    const std::int64_t visitors = data.hours[hour].visitors;
    if (visitors == 0) continue;
    const Point corner = {x_at(static_cast<double>(hour)) + 2,
                          panel.y_at(static_cast<double>(visitors))};
    const bool most = &data.hours[hour] == &*peak;
    svg.rectangle(corner, {width - 4, panel.y_at(0) - corner.y},
                  most ? R"(rx="2" fill="#0d9488")" : R"(rx="2" fill="#99d5cf")");
    if (most) {
      svg.text({corner.x + width / 2 - 2, corner.y - 5}, with_commas(visitors),
               ink(kVisitors, 12, R"(font-weight="600" text-anchor="middle")"));
    }
  }
}

// The slowest answer of each hour as a pin; hours without a view have none.
void draw_slowest(Svg& svg, const ChartData& data) {
  const Panel panel(svg, 610, 700, static_cast<double>(data.whole.slowest.value_or(0)));
  panel.frame("Slowest answer in an hour, in milliseconds", kSlow);
  for (std::size_t hour = 0; hour < data.hours.size(); ++hour) {
    const std::optional<std::int64_t> slowest = data.hours[hour].slowest;
    if (!slowest) continue;
    const Point pin = {x_at(static_cast<double>(hour) + 0.5),
                       panel.y_at(static_cast<double>(*slowest))};
    svg.line({pin.x, panel.y_at(0)}, pin,
             std::string("stroke-width=\"2\" stroke-opacity=\"0.45\" stroke=\"") + kSlow + "\"");
    svg.circle(pin, 4, std::string("fill=\"") + kSlow + "\"");
    if (slowest == data.whole.slowest) {
      svg.text({pin.x, pin.y - 9}, with_commas(*slowest),
               ink(kSlow, 12, R"(font-weight="600" text-anchor="middle")"));
    }
  }
}

// The most viewed pages as a list of bars.
void draw_pages(Svg& svg, const ChartData& data) {
  svg.text({kListLeft, 118}, "Most viewed pages", ink(kInk, 14, R"(font-weight="600")"));
  svg.text({kListRight, 118}, "views · visitors", ink(kQuiet, 12, R"(text-anchor="end")"));
  for (std::size_t i = 0; i < data.pages.size(); ++i) {
    const double y = 152 + 46 * static_cast<double>(i);
    const auto share = static_cast<double>(data.of_pages[i].views) /
                       static_cast<double>(std::max<std::int64_t>(data.of_pages[0].views, 1));
    svg.text({kListLeft, y}, shortened(data.pages[i], 28), ink(kInk, 13));
    svg.text({kListRight, y},
             with_commas(data.of_pages[i].views) + " · " + with_commas(data.of_pages[i].visitors),
             ink(kQuiet, 12, R"(text-anchor="end")"));
    svg.rectangle({kListLeft, y + 8}, {kListRight - kListLeft, 8}, R"(rx="4" fill="#eef2ff")");
    svg.rectangle({kListLeft, y + 8}, {std::max(8.0, (kListRight - kListLeft) * share), 8},
                  std::string("rx=\"4\" fill=\"") + kViews + "\"");
  }
}

std::string title_of(std::chrono::sys_days day) {
  constexpr std::array kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                "Thursday", "Friday", "Saturday"};
  constexpr std::array kMonths = {"January",   "February", "March",    "April",
                                  "May",       "June",     "July",     "August",
                                  "September", "October",  "November", "December"};
  const std::chrono::year_month_day date(day);
  return std::string(kDays[std::chrono::weekday(day).c_encoding()]) + ", " +
         std::to_string(static_cast<unsigned>(date.day())) + " " +
         kMonths[static_cast<unsigned>(date.month()) - 1] + " " +
         std::to_string(static_cast<int>(date.year()));
}

}  // namespace

once::Result<ChartData> read_chart(once::Once& once, std::chrono::sys_days day) {
  using Window = once::TallyWindow;
  ChartData data{.day = day, .views = {}, .hours = {}, .whole = {}, .pages = {}, .of_pages = {}};
  // A range of minutes is read as one number: the slots need no tally of their own.
  const std::string minutes = tally_name(kSite, "views", Window::minute);
  for (once::Time from = day; from < day + 24h; from += 10min) {
    const auto slot = once.tallies().read(minutes, {from, from + 10min});
    if (!slot) return std::unexpected(slot.error());
    data.views.push_back(*slot ? std::get<std::int64_t>((*slot)->value) : 0);
  }
  for (once::Time from = day; from < day + 24h; from += 1h) {
    auto stats = read_stats(once, kSite, Window::hour, {from, from + 1h});
    if (!stats) return std::unexpected(stats.error());
    data.hours.push_back(std::move(*stats));
  }
  auto whole = read_stats(once, kSite, Window::day, {day, day + 24h});
  if (!whole) return std::unexpected(whole.error());
  data.whole = std::move(*whole);
  for (const once::HeavyItem& page : data.whole.pages) {
    if (data.pages.size() < kMostPages) data.pages.push_back(page.item);
  }
  if (data.pages.empty()) return data;
  auto of_pages = read_stats(once, data.pages, Window::hour, {day, day + 24h});
  if (!of_pages) return std::unexpected(of_pages.error());
  data.of_pages = std::move(*of_pages);
  return data;
}

std::string draw(const ChartData& data) {
  const std::string title = title_of(data.day);
  Svg svg(kSize.x, kSize.y, "Page views on " + title);
  svg.raw(
      "<defs><linearGradient id=\"views\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\">"
      "<stop offset=\"0\" stop-color=\"#4f46e5\" stop-opacity=\"0.42\"/>"
      "<stop offset=\"1\" stop-color=\"#4f46e5\" stop-opacity=\"0.04\"/>"
      "</linearGradient></defs>\n");
  svg.text({kLeft, 48}, title, ink(kInk, 24, R"(font-weight="700")"));
  const std::string slowest =
      data.whole.slowest ? "; the slowest answer took " + with_commas(*data.whole.slowest) + " ms"
                         : "";
  svg.text({kLeft, 74},
           with_commas(data.whole.views) + " views by about " + with_commas(data.whole.visitors) +
               " visitors" + slowest + ". Times are UTC.",
           ink(kQuiet, 14));
  draw_views(svg, data);
  draw_visitors(svg, data);
  draw_slowest(svg, data);
  draw_pages(svg, data);
  return std::move(svg).finish();
}

}  // namespace page_stats

// page_stats from outside: what it counts is compared with what its deliveries really hold.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "examples/page_stats/xml_check.h"
#include "examples/run_program.h"
#include "once/open.h"
#include "testing/server_process.h"
#include "testing/servers/dynamodb_tables.h"
#include "testing/servers/needs.h"
#include "testing/temp_dir.h"
#include "testing/work/worker_process.h"

namespace examples {
namespace {

using namespace std::chrono;

using once::testing::ChildProcess;
using once::testing::DynamoDbLocal;
using once::testing::DynamoDbTable;
using once::testing::eventually;
using once::testing::ServerProcess;
using once::testing::TempDir;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string joined(const Words& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// What one window really had.
struct Truth {
  std::int64_t views = 0;
  std::int64_t slowest = 0;
  std::set<std::string> visitors;
  std::map<std::string, std::uint64_t> pages;
};

// Deliveries of a day, and what is true of them.
struct Deliveries {
  static Deliveries make(int views, int seed) {
    Deliveries made;
    const Finished ended = run_to_end({"generate", "--day", today(), "--views",
                                       std::to_string(views), "--seed", std::to_string(seed)});
    EXPECT_EQ(ended.status, 0);
    made.lines = ended.lines();
    std::set<std::string> ids;
    for (const std::string& line : made.lines) {
      const auto view = nlohmann::json::parse(line);
      if (!ids.insert(view["id"]).second) continue;
      const std::string time = view["time"];
      for (const std::size_t length : {10U, 13U, 16U}) made.add(time.substr(0, length), view);
    }
    EXPECT_EQ(ids.size(), static_cast<std::size_t>(views));
    EXPECT_GT(made.lines.size(), ids.size()) << "nothing comes twice";
    EXPECT_FALSE(std::ranges::is_sorted(made.lines, {}, [](const std::string& line) {
      return std::string(nlohmann::json::parse(line)["time"]);
    })) << "all comes in order";
    return made;
  }

  // Minutes are kept for a week: the day is one of this week's.
  static std::string today() {
    const year_month_day date(floor<days>(system_clock::now()));
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    return text.data();
  }

  void add(const std::string& window, const nlohmann::json& view) {
    Truth& truth = windows[window];
    ++truth.views;
    truth.slowest = std::max<std::int64_t>(truth.slowest, view["ms"]);
    truth.visitors.insert(view["visitor"]);
    ++truth.pages[view["page"]];
  }

  Words lines;
  std::string day = today();
  std::map<std::string, Truth> windows;  // By the beginning of the text of their time.
};

// When a window begins, how long it is and what it is called, from the beginning of a time.
struct Window {
  explicit Window(const std::string& text) {
    int y = 0;
    unsigned m = 0;
    unsigned d = 0;
    int hour = 0;
    int minute = 0;
    std::sscanf(text.c_str(), "%d-%u-%uT%d:%d", &y, &m, &d, &hour, &minute);
    from = sys_days(year_month_day(year(y), month(m), day(d))) + hours(hour) + minutes(minute);
    name = text.size() == 10 ? "day" : text.size() == 13 ? "hour" : "minute";
    length = text.size() == 10 ? hours(24) : text.size() == 13 ? hours(1) : minutes(1);
  }
  once::Time from;
  once::Duration length{};
  std::string name;
};

std::int64_t number(const once::TallyReading& reading) {
  return std::get<std::int64_t>(reading.value);
}

void expect_window(once::Once& once, const std::string& text, const Truth& truth) {
  const Window window(text);
  Words names;
  for (const char* const what : {"views", "slowest", "visitors", "pages"}) {
    names.push_back(std::string("site:") + what + ":" + window.name);
  }
  const auto read = once.tallies().read_all(names, {window.from, window.from + window.length});
  ASSERT_TRUE(read.has_value()) << read.error().message;
  for (const auto& reading : *read) ASSERT_TRUE(reading.has_value()) << text;
  EXPECT_EQ(number(*(*read)[0]), truth.views) << text;
  EXPECT_EQ(number(*(*read)[1]), truth.slowest) << text;
  const auto visitors = static_cast<double>(truth.visitors.size());
  EXPECT_NEAR(static_cast<double>(number(*(*read)[2])), visitors, 0.033 * visitors) << text;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const auto& pages = std::get<std::vector<once::HeavyItem>>((*read)[3]->value);
  EXPECT_EQ(pages.size(), truth.pages.size()) << text;
  for (const once::HeavyItem& page : pages) {
    EXPECT_EQ(page.count, truth.pages.at(page.item)) << text << page.item;
    EXPECT_LE(page.count, most) << "not in order";
    most = page.count;
  }
}

void expect_truth(const std::string& store, const Deliveries& deliveries) {
  once::Once once = once::open(store, "page_stats").value();
  for (const auto& [text, truth] : deliveries.windows) expect_window(once, text, truth);
}

// Of the site on that day.
std::int64_t counted(once::Once& once, const Deliveries& deliveries) {
  const Window window(deliveries.day);
  const auto read =
      once.tallies().read("site:views:day", {window.from, window.from + window.length});
  return read && *read ? number(**read) : 0;
}

void expect_picture(const std::string& svg) {
  EXPECT_EQ(page_stats::xml_fault(svg), "");
  for (const char* const never : {"<script", "nan", "inf\"", "href"}) {
    EXPECT_EQ(svg.find(never), std::string::npos) << never;
  }
}

// A store that a killed process leaves whole, which is all that is tried here.
std::string relaxed(const TempDir& dir) {
  return "rocksdb:" + (dir.path() / "store").string() + "?durability=relaxed";
}

TEST(PageStats, OneCommandTellsTheTruthAboutItsStore) {
  const TempDir dir;
  const std::string store = relaxed(dir);
  const auto picture = dir.path() / "day.svg";
  const Deliveries deliveries = Deliveries::make(300, 7);
  const Words command = {"--views", "300",          "--seed",  "7",
                         "--day",   deliveries.day, "--store", store};
  Words with_chart = command;
  with_chart.insert(with_chart.end(), {"--chart", picture.string()});
  const Finished first = run_to_end(with_chart);
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_TRUE(first.says("300 views;")) << first.output;
  EXPECT_TRUE(first.says("Each view counts once, in every window."));
  expect_truth(store, deliveries);
  std::stringstream svg;
  svg << std::ifstream(picture).rdbuf();
  expect_picture(svg.str());
  EXPECT_NE(svg.str().find("300 views by about"), std::string::npos);

  const Finished again = run_to_end(command);
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_TRUE(again.says("counted   0 views;")) << again.output;
  expect_truth(store, deliveries);
}

TEST(PageStats, OneCommandNeedsNoArguments) {
  const Finished ended = run_to_end({});
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_TRUE(ended.says("Each view counts once, in every window."));
}

// Four counters have the same deliveries between them twice over; some die, and so does the server.
TEST(PageStats, WhoeverIsKilledEveryViewCountsOnce) {
  const TempDir dir;
  std::mt19937 random(11);
  const Deliveries deliveries = Deliveries::make(600, 3);
  ServerProcess server(relaxed(dir));
  ASSERT_TRUE(server.running());
  std::vector<Words> parts(4);
  for (std::size_t i = 0; i < deliveries.lines.size(); ++i) {
    parts[i % 4].push_back(deliveries.lines[i]);
    parts[random() % 4].push_back(deliveries.lines[i]);
  }
  std::vector<std::unique_ptr<ChildProcess>> counters(4);
  const auto start = [&](std::size_t i) {
    const std::string file = (dir.path() / std::to_string(i)).string();
    write(file, joined(parts[i]));
    counters[i] = std::make_unique<ChildProcess>(
        ONCE_EXAMPLE, Words{"count", file, "--threads", "2", "--store", server.url()});
  };
  for (std::size_t i = 0; i < counters.size(); ++i) start(i);

  once::Once once = once::open(server.url(), "page_stats").value();
  int killed = 0;
  for (int kill = 1; kill <= 4; ++kill) {
    ASSERT_TRUE(eventually([&] { return counted(once, deliveries) >= 100 * kill; }));
    if (kill == 2) {
      server.kill();
      server.start(server.port());
      ASSERT_TRUE(server.running());
    }
    const std::size_t victim = random() % counters.size();
    counters[victim]->kill();
    killed += counters[victim]->wait() == -SIGKILL ? 1 : 0;
    start(victim);
  }
  EXPECT_GT(killed, 0) << "none was at work any more";
  for (auto& counter : counters) EXPECT_EQ(counter->wait(), 0);
  expect_truth(server.url(), deliveries);
}

TEST(PageStats, OnDynamoDbABatchQueryShowsWhatTwoCountersCounted) {
  ONCE_NEEDS_SERVER(DynamoDbLocal);
  const TempDir dir;
  const std::string store = DynamoDbTable().address();
  const Deliveries deliveries = Deliveries::make(6, 5);
  const std::string file = (dir.path() / "views").string();
  write(file, joined(deliveries.lines));
  ChildProcess other(ONCE_EXAMPLE, {"count", file, "--threads", "2", "--store", store});
  EXPECT_EQ(run_to_end({"count", file, "--threads", "1", "--store", store}).status, 0);
  EXPECT_EQ(other.wait(), 0);
  expect_truth(store, deliveries);

  const Truth& truth = deliveries.windows.at(deliveries.day);
  const Finished query =
      run_to_end({"query", "/", "/nowhere", "--day", deliveries.day, "--store", store});
  EXPECT_EQ(query.status, 0);
  const Words rows = query.lines();
  ASSERT_GE(rows.size(), 4U) << query.output;
  const std::string& site = rows[1];
  const std::string& home = rows[2];
  const std::string& nowhere = rows[3];
  EXPECT_TRUE(site.starts_with("the whole site")) << query.output;
  EXPECT_NE(site.find(" 6 "), std::string::npos) << query.output;
  EXPECT_NE(home.find(" " + std::to_string(truth.pages.at("/")) + " "), std::string::npos) << home;
  EXPECT_TRUE(nowhere.starts_with("/nowhere") && nowhere.ends_with(" -")) << query.output;
}

TEST(PageStats, AnyPageHasAPlaceInThePictureAndADayWithoutViewsIsOne) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const std::string day = Deliveries::today();
  const auto view = [&](const std::string& id, const std::string& page) {
    const nlohmann::json json = {
        {"id", id}, {"time", day + "T23:59:59.999Z"}, {"page", page}, {"visitor", "v"}, {"ms", 0}};
    return json.dump() + "\n";
  };
  std::string lines = view("a", "/<script>&\"'") + view("b", "/" + std::string(390, 'x'));
  for (int i = 0; i < 30; ++i) lines += view(std::to_string(i), "/ü" + std::to_string(i) + "…µ");
  write(dir.path() / "views", lines);
  ASSERT_EQ(run_to_end({"count", (dir.path() / "views").string(), "--store", store}).status, 0);
  expect_picture(run_to_end({"chart", "--day", day, "--store", store}).output);
  expect_picture(run_to_end({"chart", "--day", "2001-01-01", "--store", store}).output);
}

TEST(PageStats, BadInputIsRefusedAndChangesNothing) {
  const TempDir dir;
  const std::string store = (dir.path() / "store").string();
  const std::string file = (dir.path() / "views").string();
  for (const Words& wrong : {Words{"cuont"}, Words{"--veiws", "3"}, Words{"--views", "0"},
                             Words{"--views"}, Words{"count", file}, Words{"chart", "x"},
                             Words{"query", "--day", "2026-02-30", "--store", store},
                             Words{"query", "--from", "9", "--to", "9", "--store", store}}) {
    EXPECT_EQ(run_to_end(wrong).status, 2) << wrong[0];
  }
  const Deliveries deliveries = Deliveries::make(10, 1);
  for (const char* const bad :
       {"{", "[]", R"({"id":"x"})", R"({"id":"x","time":"now","page":"/","visitor":"v","ms":1})",
        R"({"id":"x","time":"2026-01-01T24:00:00.000Z","page":"/","visitor":"v","ms":1})",
        R"({"id":"x","time":"2026-01-01T00:00:00.000Z","page":"p","visitor":"v","ms":1})",
        R"({"id":"x","time":"2026-01-01T00:00:00.000Z","page":"/","visitor":"v","ms":-1})"}) {
    write(file, joined(deliveries.lines) + bad + "\n");
    EXPECT_EQ(run_to_end({"count", file, "--store", store}).status, 1) << bad;
  }
  once::Once once = once::open(store, "page_stats").value();
  EXPECT_EQ(counted(once, deliveries), 0);
}

}  // namespace
}  // namespace examples

#include "demo/demo.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/invocation.h"
#include "cli/terminal.h"
#include "wire/json.h"

namespace once::cli::demo_command {
namespace {

using demo::DemoOptions;
using demo::DemoReport;
using demo::SideReport;
using demo::Tally;

Result<void> read_number(const Invocation& invocation, std::string_view name, std::int64_t least,
                         std::int64_t most, std::uint32_t& value) {
  const auto given = invocation.integer(name);
  if (!given) return std::unexpected(given.error());
  if (!*given) return {};
  if (**given < least || **given > most) {
    std::string message = "--";
    message.append(name).append(" is ").append(std::to_string(least));
    message.append(" to ").append(std::to_string(most));
    return failure(ErrorCode::invalid, std::move(message));
  }
  value = static_cast<std::uint32_t>(**given);
  return {};
}

Result<DemoOptions> options_of(const Invocation& invocation) {
  DemoOptions options;
  Result<void> ok = read_number(invocation, "orders", 1, 20'000, options.sizes.orders);
  options.sizes.kills = std::max(1U, options.sizes.orders / 20);
  if (ok) ok = read_number(invocation, "workers", 1, 64, options.workers);
  if (ok) ok = read_number(invocation, "kills", 0, options.sizes.orders, options.sizes.kills);
  if (!ok) return std::unexpected(std::move(ok.error()));
  const auto seed = invocation.integer("seed");
  if (!seed) return std::unexpected(seed.error());
  if (seed->value_or(1) < 0) return failure(ErrorCode::invalid, "--seed is 0 or more");
  options.seed = static_cast<std::uint64_t>(seed->value_or(1));
  return options;
}

// Two lines at the bottom of a terminal that are written over and over.
class Display {
 public:
  Display() : visible_(::isatty(STDERR_FILENO) == 1) {}
  ~Display() {
    if (shown_) std::cerr << kUp << "\r\x1b[J" << std::flush;
  }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  void show(const Tally& naive, const Tally& once) {
    if (!visible_) return;
    if (shown_) std::cerr << kUp;
    shown_ = true;
    std::cerr << line("naive", naive) << line("once", once) << std::flush;
  }

 private:
  static constexpr std::string_view kUp = "\x1b[2A";
  static constexpr std::uint64_t kWidth = 16;

  static std::string line(std::string_view name, const Tally& tally) {
    const std::uint64_t full =
        kWidth * tally.finished / std::max<std::uint64_t>(1, tally.deliveries);
    std::string out = "\r";
    out.append(name).append(8 - name.size(), ' ');
    out.append("[").append(full, '#').append(kWidth - full, '.').append("]  ");
    out.append(std::to_string(tally.finished)).append("/").append(std::to_string(tally.deliveries));
    out.append(" deliveries, ").append(std::to_string(tally.killed)).append(" killed, ");
    out.append(std::to_string(tally.skipped)).append(" skipped\x1b[K\n");
    return out;
  }

  const bool visible_;
  bool shown_ = false;
};

// The table: what was done to both sides, and its result.
class Sheet {
 public:
  void fact(std::string_view name, std::uint64_t naive, std::uint64_t once) {
    row(name, {Colour::plain, std::to_string(naive)}, {Colour::plain, std::to_string(once)});
  }
  void fault(std::string_view name, std::int64_t naive, std::int64_t once) {
    row(name, judged(naive), judged(once));
  }
  void head() { row("", {Colour::faint, "naive"}, {Colour::faint, "once"}); }

 private:
  struct Cell {
    Colour colour;
    std::string text;
  };

  static Cell judged(std::int64_t count) {
    return {count == 0 ? Colour::green : Colour::red, std::to_string(count)};
  }
  static void row(std::string_view name, const Cell& naive, const Cell& once) {
    std::string label(name);
    label.resize(std::max<std::size_t>(label.size(), 36), ' ');
    std::cout << coloured(Colour::faint, label);
    for (const Cell& cell : {naive, once}) {
      std::cout << std::string(10 - std::min<std::size_t>(10, cell.text.size()), ' ')
                << coloured(cell.colour, cell.text);
    }
    std::cout << '\n';
  }
};

std::int64_t number(std::uint64_t count) { return static_cast<std::int64_t>(count); }

// What each fault is, and how the naive side comes to it.
void explain(const DemoReport& report) {
  if (report.naive.audit.flawless()) return;
  std::cout << R"(
Every order is to be in the log once, and its price in the total. How reading first and writing later fails:
  lost           two workers took the same index, and one line replaced the other
  applied again  delivered twice before the first was marked as seen, or its worker was killed before that
  gaps           a worker was killed between taking an index and writing the line
  cents          two workers added to the total they had both read, or an order was applied again
A delivery that is put back or skipped is one that Once saw to be another's, or done. Both sides had the same kills.
)";
}

void print(const DemoOptions& options, const DemoReport& report) {
  const auto& [naive, once] = report;
  std::cout << options.sizes.orders << " orders in " << once.tally.deliveries << " deliveries; "
            << "workers on each side: " << options.workers << ", seed " << options.seed << "\n\n";
  Sheet sheet;
  sheet.head();
  sheet.fact("workers killed", naive.tally.killed, once.tally.killed);
  sheet.fact("delivered again after a time-out", naive.tally.timed_out, once.tally.timed_out);
  sheet.fact("put back: another worker had it", naive.tally.busy, once.tally.busy);
  sheet.fact("duplicates skipped", naive.tally.skipped, once.tally.skipped);
  sheet.fact("taken over from a killed worker", naive.tally.taken_over, once.tally.taken_over);
  sheet.fact("milliseconds", static_cast<std::uint64_t>(naive.tally.took.count()),
             static_cast<std::uint64_t>(once.tally.took.count()));
  std::cout << '\n';
  sheet.fault("orders lost", number(naive.audit.lost), number(once.audit.lost));
  sheet.fault("orders applied again", number(naive.audit.repeated), number(once.audit.repeated));
  sheet.fault("gaps in the log", number(naive.audit.gaps), number(once.audit.gaps));
  sheet.fault("cents too many or too few", naive.audit.off_by, once.audit.off_by);
  explain(report);
  std::cout << '\n'
            << (once.audit.flawless() ? "once: every order took effect once\n"
                                      : "once: SOMETHING IS WRONG, please report the seed\n");
}

std::string json_of(const SideReport& side) {
  const auto& [tally, audit] = side;
  api::JsonObject out;
  out.integer("handed_out", number(tally.handed_out)).integer("killed", number(tally.killed));
  out.integer("timed_out", number(tally.timed_out)).integer("put_back", number(tally.busy));
  out.integer("skipped", number(tally.skipped)).integer("taken_over", number(tally.taken_over));
  out.integer("milliseconds", tally.took.count());
  out.integer("applied", number(audit.applied)).integer("lost", number(audit.lost));
  out.integer("applied_again", number(audit.repeated)).integer("gaps", number(audit.gaps));
  out.integer("cents_off", audit.off_by).boolean("flawless", audit.flawless());
  return out.finish();
}

void print_json(const DemoOptions& options, const DemoReport& report) {
  api::JsonObject out;
  out.integer("seed", number(options.seed)).integer("orders", options.sizes.orders);
  out.integer("deliveries", number(report.once.tally.deliveries));
  out.integer("workers", options.workers).integer("kills", options.sizes.kills);
  out.raw("naive", json_of(report.naive)).raw("once", json_of(report.once));
  print_line(out.finish());
}

int run(const Invocation& invocation) {
  const Result<DemoOptions> options = options_of(invocation);
  if (!options) return print_error(invocation, options.error());
  Result<std::variant<DemoReport, demo::Interrupted>> ended = failure(ErrorCode::unavailable, "");
  {
    Display display;
    ended = demo::run_demo(
        *options, [&](const Tally& naive, const Tally& once) { display.show(naive, once); });
  }
  if (!ended) return print_error(invocation, ended.error());
  if (const auto* cut = std::get_if<demo::Interrupted>(&*ended)) return 128 + cut->signal;
  const auto& report = std::get<DemoReport>(*ended);
  invocation.flag("json") ? print_json(*options, report) : print(*options, report);
  return report.once.audit.flawless() ? kDone : kRefused;
}

constexpr std::array kOptions = {Option{"orders"}, Option{"workers"}, Option{"kills"},
                                 Option{"seed"}};
constexpr std::array kVerbs = {Verb{.options = kOptions, .run = run}};

}  // namespace

const Command kCommand = {
    .name = "demo",
    .summary = "Shows what Once is for, beside code that reads first and writes later",
    .help = R"(Usage: once demo [--orders 400] [--workers 6] [--kills 20] [--seed 1] [--json]

Delivers orders at least once, as queues do: about 30 % of them twice, and those whose worker was
killed again after a second. Two sets of worker processes do the same with them: work for 1 to 6 ms,
append the order to a log and add its price to a total. Workers are killed (SIGKILL) at chosen points.

  naive   looks whether the order was seen, works, then takes an index, writes the line, adds to the
          total and marks the order as seen: plain reads and writes of a table, one after the other
  once    claims the order, works, then appends, adds and completes in one commit

Both are on an embedded store of their own, synced before every answer, below a temporary directory.
At the end the logs and totals are read back, and what is wrong with them is counted. Exits with 0 if
the side of Once is flawless, else with 1. The other options of commands (--store ...) mean nothing
here: no store but its own is touched.

  --orders N    1 to 20000
  --workers N   processes on each side, 1 to 64
  --kills N     how many deliveries have their worker killed, on each side; 5 % of the orders if not
                given
  --seed N      chooses prices, work times, duplicates, and which deliveries have their worker killed
                and how far it gets. A seed repeats all of that; how the processes are interleaved is
                up to the machine, so that the figures of the naive side vary a little
  --json        the figures as a line of JSON

Example:
  once demo --orders 40
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::demo_command

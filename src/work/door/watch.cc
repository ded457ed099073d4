#include "work/door/watch.h"

#include <unistd.h>

#include <iostream>

namespace once::work {
namespace {

using server::Level;

constexpr Duration kEvery = std::chrono::milliseconds(500);
constexpr const char* kClearLine = "\r\x1b[K";

bool on_terminal() { return ::isatty(STDERR_FILENO) == 1; }

Level level_of(const DeliveryReport& report) {
  if (report.cause == "stopping") return Level::info;  // The operator asked for it.
  switch (report.what) {
    case Delivered::handled:
    case Delivered::duplicate:
    case Delivered::busy: return Level::info;
    case Delivered::failed:
    case Delivered::lost:
    case Delivered::returned: return Level::warning;
    case Delivered::dead: return Level::error;
  }
  return Level::info;
}

}  // namespace

Watch::Watch(metrics::Registry& registry, server::Journal& journal)
    : journal_(journal),
      deliveries_(registry.counters({"once_work_deliveries_total",
                                     "Messages that were delivered, by what became of them and why",
                                     {"outcome", "reason"}})),
      handling_(registry.histogram("once_work_handling_seconds",
                                   "From a message's receipt to its completion",
                                   {0.001, 0.01, 0.1, 1, 10, 100, 1'000})),
      troubles_(registry.counter("once_work_troubles_total",
                                 "Calls of the broker or the store that did not succeed")) {}

void Watch::delivered(const DeliveryReport& report) {
  deliveries_.with({name_of(report.what), report.cause}).add();
  if (report.what == Delivered::handled) {
    ++handled_;
    handling_.observe(report.taken);
  }
  if (report.what == Delivered::duplicate) ++duplicates_;
  if (report.what == Delivered::failed) ++failed_;
  if (report.what == Delivered::dead) ++dead_;
  auto line = journal_.line(level_of(report), name_of(report.what));
  line.text("key", report.key).text("message", report.message.id);
  line.integer("delivery", report.message.deliveries).milliseconds("taken_ms", report.taken);
  line.text("cause", report.cause);
  if (!report.reason.empty()) line.text("reason", report.reason);
}

void Watch::trouble(const Error& error) {
  troubles_.add();
  journal_.line(Level::warning, "trouble").text("reason", error.message);
}

std::string Watch::line(std::size_t under_way) const {
  std::string text = std::to_string(handled_).append(" handled, ");
  text.append(std::to_string(under_way)).append(" under way, ");
  text.append(std::to_string(duplicates_)).append(" duplicates, ");
  text.append(std::to_string(failed_)).append(" failed, ");
  return text.append(std::to_string(dead_)).append(" dead letters");
}

wire::WorkerStatus Watch::status() const {
  const auto count = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  wire::WorkerStatus status;
  status.kind = "work";
  status.done = count(handled_);
  status.duplicates = count(duplicates_);
  status.failed = count(failed_);
  status.dead = count(dead_);
  if (const auto depth = this->depth()) status.waiting = count(*depth);
  return status;
}

void Watch::set_depth(std::optional<std::uint64_t> depth) {
  const Lock lock(mutex_);
  depth_ = depth;
}

std::optional<std::uint64_t> Watch::depth() const {
  const Lock lock(mutex_);
  return depth_;
}

server::JournalOptions StatusLine::above(server::JournalOptions journal) {
  if (!on_terminal() || !journal.write) return journal;
  journal.write = [write = std::move(journal.write)](std::string_view line) {
    return write(std::string(kClearLine).append(line));
  };
  return journal;
}

StatusLine::StatusLine(const Watch& watch, const Worker& worker) {
  if (!on_terminal()) return;
  show_ = [&watch, &worker] {
    std::cerr << kClearLine << watch.line(worker.under_way()) << std::flush;
  };
  showing_ = std::make_unique<Periodic>(system_clock(), kEvery, [this] {
    show_();
    return false;
  });
}

StatusLine::~StatusLine() {
  if (!showing_) return;
  showing_.reset();
  show_();  // How it ended stays.
  std::cerr << '\n' << std::flush;
}

}  // namespace once::work

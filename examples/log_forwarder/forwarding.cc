#include "forwarding.h"

#include <algorithm>
#include <chrono>
#include <istream>
#include <thread>
#include <utility>

namespace log_forwarder {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = 60s;

once::Result<once::Appended> place_of(const once::AppendOutcome& outcome, const std::string& id) {
  if (const auto* place = std::get_if<once::Appended>(&outcome)) return *place;
  return once::failure(once::ErrorCode::invalid,
                       "'" + id + "' was forwarded before with other lines; nothing was stored");
}

}  // namespace

once::Result<once::Appended> forward(once::Once& once, const std::string& execution,
                                     const Delivery& delivery) {
  std::vector<once::LogEvent> events;
  for (const std::string& line : delivery.lines) events.push_back({line, std::nullopt});
  const auto until = Clock::now() + kPatience;
  for (auto pause = 50ms;; pause = std::min(pause * 2, 1000ms)) {
    const auto outcome = once.log().append(execution, events, {.batch = delivery.id});
    if (outcome) return place_of(*outcome, delivery.id);
    if (!is_transient(outcome) || Clock::now() > until) {
      return std::unexpected(outcome.error());
    }
    std::this_thread::sleep_for(pause);
  }
}

once::Result<bool> Source::read_line() {
  line_.clear();
  for (char c = 0; in_.get(c);) {
    if (c == '\n') return true;
    if (line_.size() == kMostBytes) {
      return once::failure(once::ErrorCode::too_large, "line " + std::to_string(number_ + 1) +
                                                           " of " + name_ + " has more than " +
                                                           std::to_string(kMostBytes) + " bytes");
    }
    line_ += c;
  }
  return !line_.empty();  // The last line may lack its end.
}

once::Result<Delivery> Source::next() {
  Delivery delivery;
  for (std::size_t bytes = 0;; bytes += line_.size()) {
    if (!has_line_) {
      const once::Result<bool> more = read_line();
      if (!more) return std::unexpected(more.error());
      if (!*more) return delivery;
      has_line_ = true;
      ++number_;
    }
    if (delivery.lines.size() == kMostLines || bytes + line_.size() > kMostBytes) return delivery;
    if (delivery.lines.empty()) delivery.id = name_ + ":" + std::to_string(number_);
    delivery.lines.push_back(line_);
    has_line_ = false;
  }
}

once::Result<std::int64_t> read(once::Once& once, const std::string& execution, std::int64_t from,
                                std::int64_t until,
                                const std::function<void(const once::LogEntry&)>& each) {
  while (from <= until) {
    const auto limit = static_cast<std::size_t>(std::min<std::int64_t>(until - from, 999)) + 1;
    const auto page = once.log().read(execution, {.from = from, .limit = limit});
    if (!page) return std::unexpected(page.error());
    if (page->events.empty()) return page->next;
    for (const once::LogEntry& entry : page->events) each(entry);
    from = page->next;
  }
  return from;
}

once::Result<std::int64_t> follow(once::Once& once, const std::string& execution, std::int64_t from,
                                  std::int64_t until,
                                  const std::function<void(const once::LogEntry&)>& each,
                                  const std::function<bool()>& stopped) {
  auto heard = Clock::now();
  while (from <= until) {
    const bool last = stopped();  // Asked first: what was stored before it is read for sure.
    const auto next = read(once, execution, from, until, [&](const once::LogEntry& entry) {
      each(entry);
      from = entry.index + 1;  // Where to go on, even if the next page fails.
    });
    if (next) {
      from = *next;
      heard = Clock::now();
      if (last) break;
    } else if (!is_transient(next) || Clock::now() > heard + kPatience) {
      return next;
    }
    if (from <= until) std::this_thread::sleep_for(50ms);
  }
  return from;
}

}  // namespace log_forwarder

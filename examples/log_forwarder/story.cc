#include "story.h"

#include <atomic>
#include <cstdio>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "forwarding.h"

namespace log_forwarder {
namespace {

constexpr int kForwarders = 4;
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max() - 1;

// A subscription that delivers at least once: what is not acknowledged comes again, and some of the
// rest does, too.
class Subscription {
 public:
  Subscription(int deliveries, std::mt19937_64& random) {
    for (int i = 1; i <= deliveries; ++i) {
      Delivery delivery{.id = "delivery-" + std::to_string(i)};
      const auto lines = 1 + random() % 5;
      for (std::uint64_t line = 1; line <= lines; ++line) {
        delivery.lines.push_back("step " + std::to_string(i) + "." + std::to_string(line) + " of " +
                                 std::to_string(lines));
      }
      made_.push_back(delivery);
      waiting_.push_back(delivery);
      if (random() % 3 == 0) waiting_.push_back(delivery);
    }
  }

  std::optional<Delivery> take() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    Delivery next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  void not_acknowledged(Delivery delivery) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(delivery));
  }

  const std::vector<Delivery>& made() const { return made_; }

 private:
  std::vector<Delivery> made_;
  std::mutex mutex_;
  std::deque<Delivery> waiting_;
};

struct Counts {
  std::atomic<int> appended = 0;
  std::atomic<int> repeated = 0;  // Known by their ids: nothing was stored again.
  std::atomic<int> deaths = 0;
  std::atomic<int> errors = 0;
};

// One forwarder after the other in this place. Each dies at some delivery: before it is stored, or
// after that and before it could say so.
void keep_forwarding(once::Once& once, const std::string& execution, Subscription& subscription,
                     Counts& counts, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  while (std::optional<Delivery> delivery = subscription.take()) {
    const std::uint64_t fate = random() % 10;
    if (fate > 0) {
      const once::Result<once::Appended> place = forward(once, execution, *delivery);
      if (!place) {
        std::fprintf(stderr, "log_forwarder: %s\n", place.error().message.c_str());
        ++counts.errors;
        return;
      }
      ++(place->replayed ? counts.repeated : counts.appended);
    }
    if (fate > 1) continue;
    ++counts.deaths;
    subscription.not_acknowledged(std::move(*delivery));
  }
}

// What a reader saw, byte for byte.
class Transcript {
 public:
  void add(const once::LogEntry& entry) {
    text_.append(std::to_string(entry.index)).append(" ").append(entry.data).append("\n");
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Consecutive from 1, each line of each delivery once, and those of one delivery adjacent.
bool is_gapless(const std::vector<once::LogEntry>& entries, const std::vector<Delivery>& made) {
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool is_next = entries[i].index == static_cast<std::int64_t>(i) + 1;
    if (!is_next || !place.emplace(entries[i].data, i).second) return false;
  }
  std::size_t lines = 0;
  for (const Delivery& delivery : made) {
    const auto first = place.find(delivery.lines.front());
    if (first == place.end()) return false;
    for (std::size_t i = 0; i < delivery.lines.size(); ++i) {
      const auto line = place.find(delivery.lines[i]);
      if (line == place.end() || line->second != first->second + i) return false;
    }
    lines += delivery.lines.size();
  }
  return lines == entries.size();
}

// Begins anew at each entry; all it knows is the index.
once::Result<Transcript> reconnect_at_every_index(once::Once& once, const std::string& execution) {
  Transcript seen;
  const auto add = [&](const once::LogEntry& entry) { seen.add(entry); };
  for (std::int64_t from = 1;; ++from) {
    const once::Result<std::int64_t> next = read(once, execution, from, from, add);
    if (!next) return std::unexpected(next.error());
    if (*next == from) return seen;
  }
}

}  // namespace

once::Result<bool> tell_story(once::Once& once, int deliveries, std::uint32_t seed) {
  const std::string execution =
      "execution-" + std::to_string(once.now().time_since_epoch().count());
  std::mt19937_64 random(seed);
  Subscription subscription(deliveries, random);
  Counts counts;

  std::atomic<bool> all_forwarded = false;
  Transcript live;
  once::Result<std::int64_t> followed = 0;
  std::thread follower([&] {
    followed = follow(
        once, execution, 1, kNoEnd, [&](const once::LogEntry& entry) { live.add(entry); },
        [&] { return all_forwarded.load(); });
  });
  {
    std::vector<std::jthread> forwarders;
    for (int i = 0; i < kForwarders; ++i) {
      forwarders.emplace_back([&, own_seed = random()] {
        keep_forwarding(once, execution, subscription, counts, own_seed);
      });
    }
  }
  all_forwarded = true;
  follower.join();
  if (!followed) return std::unexpected(followed.error());

  Transcript late;
  std::vector<once::LogEntry> entries;
  const auto read_late = read(once, execution, 1, kNoEnd, [&](const once::LogEntry& entry) {
    late.add(entry);
    entries.push_back(entry);
  });
  if (!read_late) return std::unexpected(read_late.error());
  const once::Result<Transcript> patched = reconnect_at_every_index(once, execution);
  if (!patched) return std::unexpected(patched.error());

  const bool gapless = is_gapless(entries, subscription.made());
  const bool same = live.text() == late.text() && patched->text() == late.text();
  std::printf("%s: %d racing forwarders, %d of which died\n", execution.c_str(),
              kForwarders + counts.deaths.load(), counts.deaths.load());
  std::printf("%d deliveries stored, %d more were known by their ids and stored nothing\n",
              counts.appended.load(), counts.repeated.load());
  std::printf("indexes 1 to %zu: %s\n", entries.size(),
              gapless ? "none missing, none twice, every line once" : "NOT AS PROMISED");
  std::printf("a follower, a late reader and one that reconnected at every index: %s\n",
              same ? ("the same " + std::to_string(late.text().size()) + " bytes").c_str()
                   : "NOT THE SAME");
  return gapless && same && counts.errors == 0 && counts.appended == deliveries;
}

}  // namespace log_forwarder

#include "count.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace page_stats {
namespace {

using namespace std::chrono_literals;

std::string_view name_of(once::TallyWindow window) {
  using Window = once::TallyWindow;
  return window == Window::minute ? "minute" : window == Window::hour ? "hour" : "day";
}

// How long a bucket is kept after its window ended. For last year, ask for
// days.
std::optional<once::Duration> kept(once::TallyWindow window) {
  if (window == once::TallyWindow::minute) return 7 * 24h;
  if (window == once::TallyWindow::hour) return 400 * 24h;
  return std::nullopt;
}

// What `subject` is counted by, in buckets of `window`.
void add_counts(once::Effects& effects, const View& view, std::string_view subject,
                once::TallyWindow window) {
  using enum once::TallyKind;
  const auto merge = [&](std::string_view what, once::TallyKind kind, once::TallyInput input) {
    effects.merge(tally_name(subject, what, window), {.shape = {.kind = kind, .window = window},
                                                      .input = std::move(input),
                                                      .at = view.time,
                                                      .ttl = kept(window)});
  };
  merge("views", count, std::int64_t{1});
  merge("slowest", max, view.ms);
  merge("visitors", distinct, std::vector<once::CountedItem>{{view.visitor}});
  if (subject == kSite) merge("pages", top, std::vector<once::CountedItem>{{view.page}});
}

std::string why(const once::effects::Refused& refused) {
  const bool by_id = refused.part == once::effects::Refused::Part::id;
  return by_id ? " was counted before, with other values" : ": a tally of that name is another's";
}

// Under the view's id: a repeat of the commit does nothing, and says so.
once::Result<bool> count_view(once::Once& once, const View& view) {
  constexpr int kTries = 60;
  for (int tries = 1;; ++tries) {
    const auto outcome = once.commit(effects_of(view), view.id);
    if (outcome) {
      if (const auto* made = std::get_if<once::effects::Made>(&*outcome)) return !made->replayed;
      return once::failure(once::ErrorCode::invalid, view.id + why(std::get<1>(*outcome)));
    }
    // Neither "not now" nor "nobody knows" is dangerous: the id makes trying again safe.
    if (!is_transient(outcome) || tries == kTries) return std::unexpected(outcome.error());
    std::this_thread::sleep_for(500ms);
  }
}

}  // namespace

std::string tally_name(std::string_view subject, std::string_view what, once::TallyWindow window) {
  std::string name(subject);
  return name.append(":").append(what).append(":").append(name_of(window));
}

once::Effects effects_of(const View& view) {
  using Window = once::TallyWindow;
  once::Effects effects;
  for (const Window window : {Window::minute, Window::hour, Window::day}) {
    add_counts(effects, view, kSite, window);
  }
  add_counts(effects, view, view.page, Window::hour);
  return effects;
}

once::Result<Counted> count(once::Once& once, std::span<const View> views, std::size_t threads) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> counted = 0;
  std::mutex mutex;
  std::optional<once::Error> error;
  const auto work = [&] {
    for (std::size_t i = next++; i < views.size(); i = next++) {
      const once::Result<bool> first = count_view(once, views[i]);
      if (first) {
        counted += *first ? 1 : 0;
        continue;
      }
      const std::lock_guard lock(mutex);
      error = first.error();
      next = views.size();  // Nobody begins another.
    }
  };
  {
    std::vector<std::jthread> counters;
    for (std::size_t i = 0; i < threads; ++i) counters.emplace_back(work);
  }
  if (error) return std::unexpected(*error);
  return Counted{counted, views.size() - counted};
}

}  // namespace page_stats

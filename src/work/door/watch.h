// What a worker tells of itself: lines of the journal, metrics, and on a terminal one line that is
// kept up to date.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/periodic.h"
#include "metrics/registry.h"
#include "once/work.h"
#include "server/journal.h"
#include "wire/worker_status.h"

namespace once::work {

// Safe to share between threads.
class Watch {
 public:
  // Both must outlive it.
  Watch(metrics::Registry& registry, server::Journal& journal);

  void delivered(const DeliveryReport& report);
  void trouble(const Error& error);

  // "812 handled, 3 under way, ...".
  std::string line(std::size_t under_way) const;

  // What it counted, and the depth of its queue as it was last told. Kind and numbers alone.
  wire::WorkerStatus status() const;
  void set_depth(std::optional<std::uint64_t> depth);
  std::optional<std::uint64_t> depth() const;

 private:
  server::Journal& journal_;
  metrics::Family<metrics::Counter>& deliveries_;
  metrics::Histogram& handling_;
  metrics::Counter& troubles_;
  std::atomic<std::uint64_t> handled_ = 0;
  std::atomic<std::uint64_t> duplicates_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::atomic<std::uint64_t> dead_ = 0;
  mutable Mutex mutex_;
  std::optional<std::uint64_t> depth_ ONCE_GUARDED_BY(mutex_);
};

// The line, on the last line of a terminal's standard error; nothing where that is no terminal.
class StatusLine {
 public:
  // What is written to standard error meanwhile has lines of its own.
  static server::JournalOptions above(server::JournalOptions journal);

  // Both must outlive it.
  StatusLine(const Watch& watch, const Worker& worker);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

 private:
  std::function<void()> show_;
  std::unique_ptr<Periodic> showing_;
};

}  // namespace once::work

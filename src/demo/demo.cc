#include "demo/demo.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace once::demo {
namespace {

using Clock = Side::Clock;

constexpr auto kProgressEvery = std::chrono::milliseconds(100);
constexpr auto kStuckAfter = std::chrono::seconds(60);

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code none;
    std::string name = (std::filesystem::temp_directory_path(none) / "once-demo-XXXXXX").string();
    if (!none && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }  // Empty if none could be made.

 private:
  std::filesystem::path path_;
};

// Signals that end a program, as something to read. The children inherit that they are blocked.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int one : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, one);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~Signals() {
    if (descriptor_ >= 0) ::close(descriptor_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_; }
  std::optional<int> received() const {
    signalfd_siginfo info{};
    if (::read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

int milliseconds_until(Clock::time_point when, Clock::time_point now) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - now).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

// Both sides from the first delivery to the last.
class Race {
 public:
  Race(Side naive, Side once, const Progress& progress)
      : sides_{std::move(naive), std::move(once)}, progress_(progress) {}

  Result<std::optional<Interrupted>> run(const Signals& signals) {
    Clock::time_point told;
    while (!sides_[0].done() || !sides_[1].done()) {
      const Clock::time_point now = Clock::now();
      if (now - told >= kProgressEvery) {
        told = now;
        if (Result<void> ok = tell(now); !ok) return std::unexpected(std::move(ok.error()));
      }
      Result<void> ok = step(now, signals);
      if (const std::optional<int> signal = signals.received()) return Interrupted{*signal};
      if (!ok) return std::unexpected(std::move(ok.error()));
    }
    progress_(sides_[0].tally(), sides_[1].tally());
    return std::nullopt;
  }

  Result<DemoReport> report() const {
    const Result<Audit> naive = sides_[0].audit();
    const Result<Audit> once = sides_[1].audit();
    if (!naive) return std::unexpected(naive.error());
    if (!once) return std::unexpected(once.error());
    return DemoReport{{sides_[0].tally(), *naive}, {sides_[1].tally(), *once}};
  }

 private:
  Result<void> tell(Clock::time_point now) {
    const Tally naive = sides_[0].tally();
    const Tally once = sides_[1].tally();
    progress_(naive, once);
    if (naive.finished + once.finished > finished_) {
      finished_ = naive.finished + once.finished;
      advanced_ = now;
    }
    if (now - advanced_ < kStuckAfter) return {};
    return failure(ErrorCode::unavailable, "nothing was finished for a minute");
  }

  Result<void> step(Clock::time_point now, const Signals& signals) {
    std::vector<pollfd> watched = {{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
    Clock::time_point until = now + kProgressEvery;
    for (Side& side : sides_) {
      side.hand_out(now);
      side.watch(watched);
      until = std::min(until, side.due().value_or(until));
    }
    if (::poll(watched.data(), watched.size(), milliseconds_until(until, now)) <= 0) return {};
    for (const pollfd& one : watched) {
      if (one.revents == 0) continue;
      for (Side& side : sides_) {
        if (Result<void> ok = side.hear(one.fd, Clock::now()); !ok) return ok;
      }
    }
    return {};
  }

  std::array<Side, 2> sides_;
  const Progress& progress_;
  std::uint64_t finished_ = 0;
  Clock::time_point advanced_ = Clock::now();
};

}  // namespace

Result<std::variant<DemoReport, Interrupted>> run_demo(const DemoOptions& options,
                                                       const Progress& progress) {
  const Schedule schedule = make_schedule(options.seed, options.sizes);
  const TemporaryDirectory directory;  // Outlives its users.
  if (directory.path().empty()) {
    return failure(ErrorCode::unavailable, "no temporary directory can be made");
  }
  const Signals signals;
  const auto start = [&](Way way, const char* name) {
    return Side::start(way, schedule, options.workers, directory.path() / name);
  };
  Result<Side> naive = start(Way::naive, "naive");
  if (!naive) return std::unexpected(std::move(naive.error()));
  Result<Side> once = start(Way::once, "once");
  if (!once) return std::unexpected(std::move(once.error()));
  Race race(std::move(*naive), std::move(*once), progress);
  const Result<std::optional<Interrupted>> ended = race.run(signals);
  if (!ended) return std::unexpected(ended.error());
  if (*ended) return **ended;
  const Result<DemoReport> report = race.report();
  if (!report) return std::unexpected(report.error());
  return *report;
}

}  // namespace once::demo

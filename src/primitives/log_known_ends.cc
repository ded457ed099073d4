#include <unordered_map>
#include <utility>

#include "kernel/mutex.h"
#include "once/log.h"

namespace once::logs {
namespace {

// Far below the day for which the record at an old end stands, whatever becomes of its events.
constexpr Duration kHintLife = std::chrono::minutes(5);
constexpr std::size_t kMaxStreams = 10'000;

}  // namespace

class KnownEnds::Streams {
 public:
  std::optional<std::int64_t> next(const Stream& stream, Time now) const {
    const Lock lock(mutex_);
    const auto found = ends_.find(stream.home);
    if (found == ends_.end() || later(found->second.since, kHintLife) <= now) return std::nullopt;
    return found->second.next;
  }

  void learn(const Stream& stream, std::int64_t next, Time now) {
    const Lock lock(mutex_);
    // Which ones are forgotten does not matter, as each costs one scan.
    if (ends_.size() >= kMaxStreams) ends_.clear();
    End& end = ends_[stream.home];
    if (next > end.next) end = {next, now};
  }

 private:
  struct End {
    std::int64_t next = 0;
    Time since;
  };

  mutable Mutex mutex_;
  std::unordered_map<std::string, End> ends_ ONCE_GUARDED_BY(mutex_);
};

KnownEnds::KnownEnds() : streams_(std::make_unique<Streams>()) {}
KnownEnds::~KnownEnds() = default;

std::optional<std::int64_t> KnownEnds::next(const Stream& stream, Time now) const {
  if (stream.strategy != LogStrategy::conditional) return std::nullopt;
  return streams_->next(stream, now);
}

void KnownEnds::learn(const Stream& stream, std::int64_t next, Time now) {
  if (stream.strategy == LogStrategy::conditional) streams_->learn(stream, next, now);
}

}  // namespace once::logs

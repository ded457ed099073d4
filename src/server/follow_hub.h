// Feeds all followers of logs, only by store reads in index order (docs/hazards.md#h6): an append
// through this server is just a hint to read. Followers that wait for the same index of a stream
// share one read, so a thousand followers cost as much as one. What others append is looked for now
// and then; a watch of the store tells at once.
//
// Safe to call from any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/periodic.h"
#include "once/batching_driver.h"
#include "once/log.h"

namespace once::server {

using Chunk = std::shared_ptr<const std::string>;

// Where a follower begins: at an index or, with `since`, at the first event that was appended at
// that time or later, be it one that is yet to come.
struct LogStart {
  std::int64_t index = 1;
  std::optional<Time> since = std::nullopt;

  friend auto operator<=>(const LogStart&, const LogStart&) = default;
};

class FollowHub {
 public:
  using FollowerId = std::uint64_t;

  // Gets the next events, on any thread; must not block. It gets no more until it calls ready(). It
  // gets nothing while the stream cannot be read.
  using Feed = std::function<void(const Chunk& chunk)>;

  // What is appended without a hint is found every `poll`: by other servers, if the store has any,
  // and by requests whose outcome this server does not know.
  static constexpr Duration kPollShared = std::chrono::milliseconds(200);
  static constexpr Duration kPollOwned = std::chrono::seconds(2);
  // While a watch tells what others append.
  static constexpr Duration kPollWatched = kPollOwned;

  // `driver`, `clock` and `watch` must outlive it; the last is null where the store has none.
  FollowHub(BatchingDriver& driver, Clock& clock, Duration poll = kPollShared,
            HomeWatch* watch = nullptr);

  // Feeds the events of a stream from a place on.
  FollowerId follow(const std::string& name_space, const std::string& stream, LogStart from,
                    Feed feed);
  void ready(FollowerId id);  // The events it got are sent; it takes more.
  void unfollow(FollowerId id);

  // Something was appended to the stream, or may have been.
  void hint(const std::string& name_space, const std::string& stream);
  void hint_home(const std::string& home);  // The same; it may be no stream's.
  void hint_all();

  std::size_t followers();

  // Reads nothing from now on. To be called before the driver ends; pages under way still arrive.
  void stop();

 private:
  using StreamName = std::pair<std::string, std::string>;

  struct Follower {
    StreamName stream;
    LogStart next;
    Feed feed;
  };

  struct WatchedStream {
    StreamName stream;
    std::size_t followers = 0;
  };

  // The followers of a stream that wait, by the place they wait for.
  struct Place {
    std::vector<FollowerId> waiting;
    bool reading = false;
    bool again = false;  // A hint came while it was being read.
  };
  using Places = std::map<LogStart, Place>;

  void poll();
  void watch(const StreamName& stream) ONCE_REQUIRES(mutex_);
  void unwatch(const StreamName& stream) ONCE_REQUIRES(mutex_);
  void wait_at(FollowerId id, Follower& follower) ONCE_REQUIRES(mutex_);
  void hint_stream(const StreamName& stream, Places& places) ONCE_REQUIRES(mutex_);
  void read(const StreamName& stream, const LogStart& from) ONCE_REQUIRES(mutex_);
  void on_page(const StreamName& stream, const LogStart& from, Result<LogPage> page);
  std::vector<Feed> move_on(const StreamName& stream, const LogStart& from, const LogStart& next)
      ONCE_EXCLUDES(mutex_);

  BatchingDriver& driver_;
  Clock& clock_;
  HomeWatch* const watch_;
  Time polled_;  // Used by the poller alone.

  Mutex mutex_;
  bool stopped_ ONCE_GUARDED_BY(mutex_) = false;
  FollowerId last_id_ ONCE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<FollowerId, Follower> followers_ ONCE_GUARDED_BY(mutex_);
  std::map<StreamName, Places> streams_ ONCE_GUARDED_BY(mutex_);
  std::unordered_map<std::string, WatchedStream> watched_ ONCE_GUARDED_BY(mutex_);  // By home.

  std::optional<Periodic> poller_;  // Last: it uses all of the above.
};

}  // namespace once::server

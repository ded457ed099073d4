// Feeds all followers of logs, only by store reads in index order (docs/hazards.md#h6): an append
// through this server is just a hint to read. Followers that wait for the same index of a stream
// share one read, so a thousand followers cost as much as one.
//
// Safe to call from any thread.
#pragma once

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

  // `driver` and `clock` must outlive it.
  FollowHub(BatchingDriver& driver, Clock& clock, Duration poll = kPollShared);

  // Feeds the events of a stream from index `from` on.
  FollowerId follow(const std::string& name_space, const std::string& stream, std::int64_t from,
                    Feed feed);
  void ready(FollowerId id);  // The events it got are sent; it takes more.
  void unfollow(FollowerId id);

  // Something was appended to the stream, or may have been.
  void hint(const std::string& name_space, const std::string& stream);
  void hint_all();

  // Reads nothing from now on. To be called before the driver ends; pages under way still arrive.
  void stop();

 private:
  using StreamName = std::pair<std::string, std::string>;

  struct Follower {
    StreamName stream;
    std::int64_t next = 1;
    Feed feed;
  };

  // The followers of a stream that wait, by the index they wait for.
  struct Place {
    std::vector<FollowerId> waiting;
    bool reading = false;
    bool again = false;  // A hint came while it was being read.
  };
  using Places = std::map<std::int64_t, Place>;

  void wait_at(FollowerId id, Follower& follower) ONCE_REQUIRES(mutex_);
  void hint_stream(const StreamName& stream, Places& places) ONCE_REQUIRES(mutex_);
  void read(const StreamName& stream, std::int64_t from) ONCE_REQUIRES(mutex_);
  void on_page(const StreamName& stream, std::int64_t from, Result<LogPage> page);
  std::vector<Feed> move_on(const StreamName& stream, std::int64_t from, std::int64_t next)
      ONCE_EXCLUDES(mutex_);

  BatchingDriver& driver_;

  Mutex mutex_;
  bool stopped_ ONCE_GUARDED_BY(mutex_) = false;
  FollowerId last_id_ ONCE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<FollowerId, Follower> followers_ ONCE_GUARDED_BY(mutex_);
  std::map<StreamName, Places> streams_ ONCE_GUARDED_BY(mutex_);

  std::optional<Periodic> poller_;  // Last: it uses all of the above.
};

}  // namespace once::server

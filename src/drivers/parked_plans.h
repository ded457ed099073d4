// Plans that wait for a key to change. Such a plan costs its memory alone: neither a place among
// the plans under way, nor a thread, nor, unless it is the first in the line for its key, a look at
// the store.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "once/batching_driver.h"

namespace once::detail {

// How many plans may wait: of all tenants, and of each. Safe to share between threads.
class WaitPlaces {
 public:
  WaitPlaces(std::size_t most, std::size_t most_of_tenant)
      : most_(most), most_of_tenant_(most_of_tenant) {}

  bool take(std::uint64_t tenant);
  void give_back(std::uint64_t tenant);

  std::size_t taken() const;
  std::uint64_t refused() const { return refused_; }

 private:
  const std::size_t most_;
  const std::size_t most_of_tenant_;
  std::atomic<std::uint64_t> refused_ = 0;

  mutable Mutex mutex_;
  std::size_t taken_ ONCE_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, std::size_t> by_tenant_ ONCE_GUARDED_BY(mutex_);
};

// The place of one plan in the line for a key. It keeps it until it ends, also while it looks
// whether the key is free.
struct WaitPlace {
  WaitPlace(std::shared_ptr<WaitPlaces> all, std::uint64_t whose, Key wanted, std::uint64_t at)
      : places(std::move(all)), tenant(whose), key(std::move(wanted)), number(at) {}
  ~WaitPlace() { places->give_back(tenant); }
  WaitPlace(const WaitPlace&) = delete;
  WaitPlace& operator=(const WaitPlace&) = delete;

  const std::shared_ptr<WaitPlaces> places;
  const std::uint64_t tenant;
  const Key key;
  const std::uint64_t number;
  std::uint64_t seen = 0;  // Of the writes to the key, when it was last taken from the line.
};

// Not safe to share: belongs to the driver's thread. What take…() returns looks whether the key is
// free, until it is added again or has left().
class ParkedPlans {
 public:
  // `watch`, unless null, is told for which homes there are lines, and must outlive it.
  explicit ParkedPlans(std::shared_ptr<WaitPlaces> places, HomeWatch* watch = nullptr)
      : places_(std::move(places)), watch_(watch) {}

  // Takes a plan that is suspended at a WaitStep. False if too many wait.
  bool add(Task& task, Time now);

  // Those whose time has come.
  std::vector<Task*> take_due(Time now);
  Time next_due() const { return due_.empty() ? kNever : due_.begin()->first; }

  // The key was written: the first in its line. None if others look already, who may or may not
  // have met the write: they look once more.
  std::vector<Task*> take_for_write(const Key& key, Time now);

  // Those of a home that plans wait for; of all homes if it is empty.
  std::vector<Key> keys_in(const std::string& home) const;

  // A plan that looked has ended: the next ones in its line.
  std::vector<Task*> take_after(const Key& key, std::size_t most, Time now);

  // Those whose executor it is and whose callers have hung up.
  std::vector<Task*> take_cancelled(const Executor& executor, Time now);

  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return parked_.size(); }

 private:
  struct Line {
    std::map<std::uint64_t, Task*> waiting;  // By number.
    std::size_t looking = 0;
    std::uint64_t writes = 0;  // While some looked.
  };
  using Due = std::multimap<Time, Task*>;
  struct Parked {
    Time until;
    Due::iterator due;
  };

  void remove(Task& task, Time now);
  std::vector<Task*> take_first(Line& line, std::size_t most, Time now);
  Time due_of(const Task& task, const Line& line, Time until, Time now) const;

  const std::shared_ptr<WaitPlaces> places_;
  HomeWatch* const watch_;
  std::unordered_map<Task*, Parked> parked_;
  std::map<Key, Line> lines_;
  Due due_;
  std::unordered_multimap<const Executor*, Task*> by_executor_;
  std::uint64_t last_number_ = 0;
};

}  // namespace once::detail

// Claims, logs, documents and tallies on a store that this process has opened: each call runs its
// plan on the caller's thread, or on a batching driver that many threads share. For programs that
// hold a Store; Once (once/once.h) holds all four.
//
// Safe to share between threads. `store`, `clock` and `entropy` must outlive them. A step of a call
// that is under way when its time is over is not cut off: the store's own timeouts bound it.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <variant>

#include "once/batching_driver.h"
#include "once/blocking_driver.h"
#include "once/claims.h"
#include "once/documents.h"
#include "once/log.h"
#include "once/tallies.h"

namespace once {

// What runs the plans of the four.
class LocalDriver {
 public:
  // Each call runs its plan on the caller's thread. All three must outlive it.
  explicit LocalDriver(Store& store, Clock& clock = system_clock(),
                       Entropy& entropy = system_entropy())
      : driver_(BlockingDriver(store, clock, entropy)) {}

  // The commits of calls that are under way at the same time are grouped. `driver` must outlive it.
  explicit LocalDriver(BatchingDriver& driver) : driver_(&driver) {}

  template <class T>
  Result<T> run(Plan<T> plan, Duration within) {
    if (auto* const batching = std::get_if<BatchingDriver*>(&driver_)) {
      return (*batching)->run(std::move(plan), within);
    }
    return std::get<BlockingDriver>(driver_).run(std::move(plan), within);
  }

 private:
  std::variant<BlockingDriver, BatchingDriver*> driver_;
};

class LocalClaims final : public Claims {
 public:
  explicit LocalClaims(Store& store, std::string name_space = "default",
                       Clock& clock = system_clock(), Entropy& entropy = system_entropy());
  LocalClaims(LocalDriver driver, std::string name_space);

  void set_if_store_down(IfStoreDown policy) override { if_store_down_ = policy; }
  Result<ClaimOutcome> take(std::string_view name, const ClaimRequest& request,
                            Duration wait = Duration::zero(),
                            Duration within = kAttemptLife) override;
  Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease,
                             Duration within = kAttemptLife) override;
  Result<SettleOutcome> complete(std::string_view name, const Ticket& ticket, Bytes result,
                                 Duration within = kAttemptLife) override;
  Result<SettleOutcome> release(std::string_view name, const Ticket& ticket, Bytes failure,
                                Release how, Duration within = kAttemptLife) override;
  Result<bool> forget(std::string_view name, Duration within = kAttemptLife) override;
  Result<std::optional<ClaimState>> show(std::string_view name,
                                         Duration within = kAttemptLife) override;
  Result<claims::ClaimPage> list(const claims::ClaimFilter& filter = {}, std::string cursor = "",
                                 std::size_t limit = 1'000,
                                 Duration within = kAttemptLife) override;
  Result<claims::BulkOutcome> forget_all(const claims::BulkRequest& request,
                                         Duration within = kAttemptLife) override;
  Result<claims::BulkOutcome> retry_all(const claims::BulkRequest& request,
                                        Duration within = kAttemptLife) override;
  Result<claims::BulkOutcome> release_all(const claims::BulkRequest& request,
                                          Duration within = kAttemptLife) override;
  Result<claims::Seen> mark(std::span<const std::string> ids, Duration ttl,
                            std::string request = "", Duration within = kAttemptLife) override;
  Result<std::optional<claims::SeenMark>> show_seen(std::string_view id,
                                                    Duration within = kAttemptLife) override;
  Result<bool> forget_seen(std::string_view id, Duration within = kAttemptLife) override;

 private:
  Result<void> check_name(std::string_view name) const;
  Result<Key> key_of(std::string_view name) const;

  const std::string name_space_;
  LocalDriver driver_;
  std::atomic<IfStoreDown> if_store_down_ = IfStoreDown::refuse;
};

class LocalLog final : public Log {
 public:
  explicit LocalLog(Store& store, std::string name_space = "default",
                    LogStrategy strategy = LogStrategy::conditional, Clock& clock = system_clock(),
                    Entropy& entropy = system_entropy());
  LocalLog(LocalDriver driver, std::string name_space, LogStrategy strategy);

  Result<AppendOutcome> append(std::string_view stream, std::vector<LogEvent> events,
                               const AppendRequest& request = {},
                               Duration within = kAttemptLife) override;
  Result<logs::EventsOutcome> append_events(std::string_view stream, std::vector<LogEvent> events,
                                            logs::EventIds ids, const AppendRequest& request = {},
                                            Duration within = kAttemptLife) override;
  Result<LogPage> read(std::string_view stream, const LogRead& request = {},
                       Duration within = kAttemptLife) override;
  Result<LogEnds> ends(std::string_view stream, Duration within = kAttemptLife) override;
  Result<LogEnds> trim(std::string_view stream, std::int64_t before,
                       Duration within = kAttemptLife) override;
  Result<std::optional<LogEnds>> close(std::string_view stream,
                                       std::optional<Duration> ttl = std::nullopt,
                                       Duration within = kAttemptLife) override;
  Result<LogRemoval> remove(std::string_view stream, Duration within = kAttemptLife) override;
  Result<LogList> list(std::string_view prefix = "", std::string cursor = "",
                       std::size_t limit = 1'000, Duration within = kAttemptLife) override;
  Result<std::int64_t> heal(std::string_view stream, Duration grace = logs::kVoidGrace,
                            Duration within = kAttemptLife) override;

 private:
  Result<logs::Stream> stream_of(std::string_view name) const;

  const std::string name_space_;
  const LogStrategy strategy_;
  logs::KnownEnds known_;
  LocalDriver driver_;
};

class LocalDocuments final : public Documents {
 public:
  explicit LocalDocuments(Store& store, std::string name_space = "default",
                          Clock& clock = system_clock(), Entropy& entropy = system_entropy());
  LocalDocuments(LocalDriver driver, std::string name_space);

  Result<std::optional<documents::Document>> get(std::string_view name,
                                                 Duration within = kAttemptLife) override;
  Result<documents::WriteOutcome> put(std::string_view name, documents::Content content,
                                      documents::Condition condition,
                                      documents::Identity identity = {},
                                      Duration within = kAttemptLife) override;
  Result<documents::WriteOutcome> remove(std::string_view name, std::string etag,
                                         documents::Identity identity = {},
                                         Duration within = kAttemptLife) override;
  Result<documents::WriteOutcome> update_if(std::string_view name, std::string etag,
                                            documents::UpdateRequest request,
                                            Duration within = kAttemptLife) override;
  Result<documents::UpdateOutcome> update(std::string_view name, documents::UpdateRequest request,
                                          Duration within = kAttemptLife) override;
  Result<documents::DocumentPage> list(const Listing& listing = {},
                                       Duration within = kAttemptLife) override;
  Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run,
                                 Duration within = kAttemptLife) override;

  const documents::Contention& contention() const { return contention_; }

 private:
  Result<Key> key_of(std::string_view name) const;

  const std::string name_space_;
  LocalDriver driver_;
  documents::Contention contention_;
};

class LocalTallies final : public Tallies {
 public:
  explicit LocalTallies(Store& store, std::string name_space = "default",
                        Clock& clock = system_clock(), Entropy& entropy = system_entropy());
  LocalTallies(LocalDriver driver, std::string name_space);

  Result<TallyOutcome> merge(std::string_view name, const TallyRequest& request,
                             Duration within = kAttemptLife) override;
  Result<std::optional<TallyReading>> read(std::string_view name, const TallyRange& range = {},
                                           std::shared_ptr<const Monoid> own = {},
                                           Duration within = kAttemptLife) override;
  Result<std::vector<std::optional<TallyReading>>> read_all(
      std::span<const std::string> names, const TallyRange& range = {},
      std::shared_ptr<const Monoid> own = {}, Duration within = kAttemptLife) override;
  Result<std::vector<std::optional<TallyReading>>> read_each(
      std::span<const TallyRead> reads, std::shared_ptr<const Monoid> own = {},
      Duration within = kAttemptLife) override;
  Result<std::optional<TallySeries>> series(std::string_view name, const TallyRange& range = {},
                                            std::shared_ptr<const Monoid> own = {},
                                            Duration within = kAttemptLife) override;
  Result<bool> remove(std::string_view name, Duration within = kAttemptLife) override;
  Result<TallyPage> list(const Listing& listing = {}, Duration within = kAttemptLife) override;
  Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run,
                                 Duration within = kAttemptLife) override;

 private:
  Result<Key> key_of(std::string_view name) const;

  const std::string name_space_;
  tallies::KnownTallies known_;
  LocalDriver driver_;
};

}  // namespace once

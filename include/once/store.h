// A store keeps items and changes them only by guarded commits. It knows nothing of claims or
// logs; everything Once does is a plan of these few calls.
//
// Every call blocks until it has an answer. Safe to share between threads, except that nothing may
// be under way when a store is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "once/detail/secret_cell.h"
#include "once/error.h"
#include "once/store_units.h"
#include "once/write.h"

namespace once {

// Makes a token of a commit, for a user of the same engine who applies it in a transaction of their
// own. Safe to share between threads; lives as long as its store.
class Sealer {
 public:
  virtual ~Sealer() = default;

  // `parts` names the part of the request that each write belongs to. Every write has a version.
  // From `until` on the token is refused. Nobody else can make one, and it can be applied nowhere
  // else.
  virtual std::string seal(Transaction writes, std::span<const std::string> parts,
                           Time until) const = 0;
};

// What a store can do. Requests beyond it are refused before anything is written.
struct Limits {
  std::size_t writes_per_commit = 1;
  std::size_t commits_per_group = 10'000;  // Transactions in one commit_each.
  std::size_t keys_per_get = 10'000;

  // Calls that a batching driver makes at once (docs/hazards.md#h37). More than 1 is for stores
  // that are servers. Where the engine is in this process, grouping is what makes it fast.
  std::size_t calls_in_flight = 1;

  std::size_t value_bytes = 0;
  std::size_t partition_bytes = 0;  // Home and part together.
  bool one_home_per_commit = false;
  Duration clock_error{0};  // Largest difference of now() in two processes (docs/hazards.md#h15).
  bool may_forget = false;  // A failover may lose commits that were answered.
  bool scans_ascending = true;
  bool scans_descending = true;
  const Sealer* sealer = nullptr;  // Null where commits cannot be part of another transaction.
};

enum class Direction : std::uint8_t { ascending, descending };

// The items of one partition whose sort is in [first, last].
struct ScanRequest {
  Partition partition;
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  Direction direction = Direction::ascending;
  std::size_t limit = 1'000;         // At most so many items, from 1 to kMaxPage,
  std::size_t max_bytes = 4U << 20;  // and about so many bytes of values, but at least one item.
};

struct Entry {
  std::int64_t sort = 0;
  Item item;
};

struct ScanPage {
  std::vector<Entry> entries;
  bool more = false;  // Cut short by limit or max_bytes: there may be more.
};

// Items of any partition whose home starts with `home_prefix`, in an order of the store's own.
struct ListRequest {
  std::string home_prefix;
  std::string cursor;         // Empty, or from the page before.
  std::size_t limit = 1'000;  // Items to examine, from 1 to kMaxPage.
};

struct ListPage {
  struct Listed {
    Key key;
    Item item;
  };
  std::vector<Listed> items;  // May be empty although a cursor follows.
  std::string cursor;         // Empty when the end was reached.
};

inline constexpr std::size_t kMaxPage = 10'000;

// What one sweep did.
struct Swept {
  std::size_t examined = 0;
  std::size_t removed = 0;
  bool finished = false;  // The end was reached; the next sweep starts over.
};

class Store {
 public:
  virtual ~Store() = default;
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual const Limits& limits() const = 0;

  // One line for people: the engine, where its data is, what an answer promises.
  virtual std::string describe() const = 0;

  // Keys of one place may be slow together: those of a partition, or of one server. Where several
  // calls are in flight, plans share a call only if their keys are in the same places. Costs no
  // round trip.
  virtual std::uint64_t place(const Key& key) const;

  // The time by which items expire and leases end. Never steps back; costs no round trip.
  virtual Time now() = 0;

  // What each key holds, in the order asked. Each item is read whole, but the items together are
  // no snapshot. Sees every commit answered before the call.
  Result<std::vector<std::optional<Item>>> get(std::span<const Key> keys);
  Result<std::optional<Item>> get(const Key& key);

  Result<ScanPage> scan(const ScanRequest& request);

  // For operators: walks the store in bounded pages. An item that exists for the whole walk is met
  // at least once.
  Result<ListPage> list(const ListRequest& request);

  // All or nothing. `invalid` also when an add overflows, or meets bytes.
  Result<CommitOutcome> commit(Transaction transaction);

  // As if committed one by one in this order, each seeing what came before; one answer for each.
  // All answers come when all that was committed is as durable as the store promises.
  std::vector<Result<CommitOutcome>> commit_each(std::span<const Transaction> transactions);

  // Removes expired items, examining at most `limit`. Only reclaims space: an expired item counts
  // as absent either way.
  virtual Result<Swept> sweep(std::size_t limit) = 0;

  // What was used since the store was opened, a row for each operation and kind. Empty where the
  // engine is in this process.
  virtual StoreUnits units() const { return {}; }

  // Where this process remembers a secret that the store keeps. The store itself does not use it.
  detail::SecretCell& secret() { return secret_; }

 protected:
  // Requests arrive here checked: within limits(), well formed, no key twice, versions given.
  virtual Result<std::vector<std::optional<Item>>> do_get(std::span<const Key> keys) = 0;
  virtual Result<ScanPage> do_scan(const ScanRequest& request) = 0;
  virtual Result<ListPage> do_list(const ListRequest& request) = 0;
  virtual Result<CommitOutcome> do_commit(Transaction transaction) = 0;

  // One by one, unless the engine has something better.
  virtual std::vector<Result<CommitOutcome>> do_commit_each(
      std::span<const Transaction> transactions);

 private:
  detail::SecretCell secret_;
};

}  // namespace once

// A group of commits, and the locks of their keys.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "kernel/apply.h"
#include "kernel/format.h"
#include "once/write.h"

namespace once {

// Locks for keys; many keys share one. A group takes its locks in ascending order, each once, so
// groups cannot deadlock.
class Stripes {
 public:
  class Held;

 private:
  static constexpr std::size_t kCount = 1024;
  std::array<Mutex, kCount> stripes_;
};

// Holds the stripes of all these encoded keys while it lives.
class Stripes::Held {
 public:
  Held(Stripes& stripes, std::span<const std::string_view> keys);
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  template <class F>
  void for_each(F f);

  Stripes& stripes_;
  std::array<std::uint64_t, kCount / 64> held_{};  // A bit a stripe.
};

// Transactions that are evaluated together, as if one by one: each sees the database with the
// writes of those before it in the group (docs/hazards.md#h26). The result is one batch.
//
//   Group group(transactions);
//   const Stripes::Held held(stripes, group.keys());
//   group.read(db, now);
//   answers = group.evaluate(now);
//   group.collect(batch);
//
// The transactions must outlive it.
class Group {
 public:
  explicit Group(std::span<const Transaction> transactions);

  // The encoded keys, each once.
  std::span<const std::string_view> keys() const { return keys_; }

  // Reads every item that an answer depends on. A key that cannot be read fails only the
  // transactions that need it.
  void read(rocksdb::DB& db, Time now);

  // One answer for each transaction, valid once the batch is written.
  std::vector<Result<CommitOutcome>> evaluate(Time now);

  void collect(rocksdb::WriteBatch& batch) const;

 private:
  // The item of a key after the transactions evaluated so far.
  struct Slot {
    bool needed = false;                     // A write depends on the current item.
    bool stored = true;                      // The database may hold something.
    bool present = false;                    // `item` exists and has not expired.
    Effect::Kind left = Effect::Kind::none;  // The group's write: `item`, or nothing.
    format::ItemView item;
    std::optional<Error> fault;
  };

  void encode_keys();
  void assign_slots();
  void accept(Slot& slot, std::string_view key, const rocksdb::Status& status,
              const rocksdb::Slice& value, Time now);
  Slot& slot_of(std::size_t write) { return slots_[slot_of_.empty() ? write : slot_of_[write]]; }
  Result<CommitOutcome> evaluate_one(Transaction writes, std::size_t first, Time now);
  std::optional<Result<CommitOutcome>> refusal(Transaction writes, std::size_t first);
  Committed apply(Transaction writes, std::size_t first, Time now);

  const std::span<const Transaction> transactions_;
  std::string encoded_;                 // All keys, one after the other.
  std::vector<std::string_view> keys_;  // One for each slot.
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> slot_of_;  // By write; empty when each write has its own.
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<Effect> effects_;  // Of the transaction being evaluated.
};

}  // namespace once

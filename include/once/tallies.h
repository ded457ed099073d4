// Tallies are numbers and sketches that many writers merge into: sums, counts, maxima, distinct
// counts, heavy hitters, filters, and any monoid of the program's own. A tally has one bucket, or
// one for each minute, hour or day. Its kind and window are fixed by its first merge.
//
// A merge with an id takes effect once within the id's ttl, however often it is sent. One without
// an id is sent once, and after a lost reply the answer is `unknown`. Where merging again changes
// nothing (max, min, distinct, bloom, and a monoid that says so) it is sent until it is known to be
// merged; `unknown` then means that time ran out. Time is the store's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "once/monoid.h"
#include "once/plan.h"

namespace once {

enum class TallyKind : std::uint8_t {
  sum,       // Of int64. Overflow is refused.
  real,      // A sum of doubles, each and the result finite. Rounding depends on the order.
  count,     // A sum of positive int64.
  max,       // Of int64.
  min,       // Of int64.
  distinct,  // The number of different items, estimated.
  top,       // The most frequent items, with bounds on their counts.
  bloom,     // Whether an item was merged: "no" is certain.
  own,       // The program's own monoid.
};

enum class TallyWindow : std::uint8_t { none, minute, hour, day };

// The kind, window and size of a tally. Fields that the kind does not use are ignored.
struct TallyShape {
  TallyKind kind = TallyKind::sum;
  TallyWindow window = TallyWindow::none;
  unsigned precision = 14;            // distinct: 8 to 18; 14 has 0.81 % standard error.
  std::size_t counters = 256;         // top: errors are at most the total / (counters + 1).
  std::uint64_t capacity = 10'000;    // bloom: at most `rate` false positives
  double rate = 0.01;                 // with up to `capacity` items.
  std::shared_ptr<const Monoid> own;  // own.
};

struct CountedItem {
  std::string item;
  std::uint64_t count = 1;  // top only.
};

// int64 for sum, count, max, min; double for real; items for distinct, top, bloom; an encoded state
// for own.
using TallyInput = std::variant<std::int64_t, double, std::vector<CountedItem>, Bytes>;

struct TallyRequest {
  TallyShape shape;
  TallyInput input;
  std::string id;                            // Up to 512 bytes, as a key; empty for none.
  Duration id_ttl = std::chrono::hours(24);  // How long the id is kept, at least a minute.
  std::optional<Time> at;                    // Chooses the bucket; now, if not given.
  // How long the bucket is kept after the end of its window or, without a window, after the last
  // stored change. For ever, if not given. The latest change decides.
  std::optional<Duration> ttl;
};

struct HeavyItem {
  std::string item;
  std::uint64_t count = 0;  // The true count is at most this,
  std::uint64_t error = 0;  // and at least count - error.

  friend bool operator==(const HeavyItem&, const HeavyItem&) = default;
};

struct BloomAnswer {
  Bytes state;

  bool may_contain(std::string_view item) const;
};

// monostate for the max or min of no inputs; int64 for sum, count, max, min and distinct; double
// for real; a state for own.
using TallyValue =
    std::variant<std::monostate, std::int64_t, double, std::vector<HeavyItem>, BloomAnswer, Bytes>;

struct Tallied {
  bool replayed = false;            // The id was known: nothing was merged this time.
  std::optional<TallyValue> value;  // Of the bucket. Empty only if it was merged but not read.
};
struct TallyMismatch {};  // The id was used for another input.
struct OtherTally {       // The tally has another kind, shape or window.
  std::string kind;       // Its monoid's name,
  TallyWindow window;     // and its window.
};
struct TooManyIds {};  // The store takes one write per commit, and the bucket holds 1,024 ids.
using TallyOutcome = std::variant<Tallied, TallyMismatch, OtherTally, TooManyIds>;

// The buckets that start in [from, to). A tally without a window is in every range.
struct TallyRange {
  std::optional<Time> from;
  std::optional<Time> to;
};

struct TallyReading {
  TallyKind kind = TallyKind::sum;
  TallyWindow window = TallyWindow::none;
  TallyValue value;
};

// The plans. `key` is tally_key() of a name.
namespace tallies {

inline constexpr std::size_t kMaxInnerIds = 1'024;
inline constexpr std::size_t kMaxReads = 10'000;

// How large the states are together that one call may need, by their shapes; more is `too_large`.
inline constexpr std::size_t kMaxBytes = 64U << 20;

Key tally_key(std::string_view name_space, std::string_view name);

// The kinds and windows of tallies that this process has seen. The first merge fixes them for ever
// (docs/hazards.md#h21), so they need not be read again. Bounded. Shared by all merges of a
// process; safe to share between threads.
class KnownTallies {
 public:
  KnownTallies();
  ~KnownTallies();

  // `meta` is the value of the tally's meta item.
  bool holds(const Key& tally, const Bytes& meta) const;
  void learn(const Key& tally, Bytes meta);

 private:
  class Metas;
  std::unique_ptr<Metas> metas_;
};

// Merges the input into its bucket. One store call if the store can add or raise the integer by
// itself, two otherwise; one more if `known` does not have the tally, and another for the tally's
// first merge. `known` may be null, and must outlive the plan.
Plan<TallyOutcome> merge(Key key, TallyRequest request, KnownTallies* known = nullptr);

// The existing tally of this name, if `request` cannot be merged into it. One get.
Plan<std::optional<OtherTally>> other_than(Key key, TallyRequest request);

// All retained buckets of the range as one value; an absent bucket is the identity. Empty if
// there is no such tally. A tally of a program's own kind needs its monoid.
Plan<std::optional<TallyReading>> read(Key key, TallyRange range,
                                       std::shared_ptr<const Monoid> own);

// One answer for each of up to kMaxReads keys, in order. Each tally is read once. `too_large` if
// more than `most_bytes` would have to be read.
Plan<std::vector<std::optional<TallyReading>>> read_all(std::vector<Key> keys, TallyRange range,
                                                        std::shared_ptr<const Monoid> own,
                                                        std::size_t most_bytes = kMaxBytes);

}  // namespace tallies

// The tallies of one namespace. Safe to share between threads. A name is as for claims, and
// `within` bounds a call as there.
class Tallies {
 public:
  Tallies() = default;
  virtual ~Tallies() = default;
  Tallies(const Tallies&) = delete;
  Tallies& operator=(const Tallies&) = delete;

  // As the plans above.
  virtual Result<TallyOutcome> merge(std::string_view name, const TallyRequest& request,
                                     Duration within = kAttemptLife) = 0;
  virtual Result<std::optional<TallyReading>> read(std::string_view name,
                                                   const TallyRange& range = {},
                                                   std::shared_ptr<const Monoid> own = {},
                                                   Duration within = kAttemptLife) = 0;
  virtual Result<std::vector<std::optional<TallyReading>>> read_all(
      std::span<const std::string> names, const TallyRange& range = {},
      std::shared_ptr<const Monoid> own = {}, Duration within = kAttemptLife) = 0;
};

}  // namespace once

// Tallies are numbers and sketches that many writers merge into: sums, counts, maxima, distinct
// counts, heavy hitters, filters, and any monoid of the program's own. A tally has one bucket, or
// one for each window of time. Its kind and window are fixed by its first merge, until it is
// removed or all of it has expired.
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

#include "once/listing.h"
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

// How long a bucket is: zero for a tally without a window, otherwise at least a second that divides
// a day, or a multiple of a day up to ten years. Buckets are aligned to 1970-01-01 UTC.
struct TallyWindow {
  Duration length{0};

  static const TallyWindow none;
  static const TallyWindow minute;
  static const TallyWindow hour;
  static const TallyWindow day;

  friend bool operator==(const TallyWindow&, const TallyWindow&) = default;
};
inline constexpr TallyWindow TallyWindow::none{};
inline constexpr TallyWindow TallyWindow::minute{std::chrono::minutes(1)};
inline constexpr TallyWindow TallyWindow::hour{std::chrono::hours(1)};
inline constexpr TallyWindow TallyWindow::day{std::chrono::days(1)};

bool is_window(const TallyWindow& window);

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

// The buckets that start in [from, to); with `last`, those that overlap the time from so long ago
// until now instead. A tally without a window is in every range.
struct TallyRange {
  std::optional<Time> from;
  std::optional<Time> to;
  std::optional<Duration> last = std::nullopt;

  friend auto operator<=>(const TallyRange&, const TallyRange&) = default;
};

struct TallyReading {
  TallyKind kind = TallyKind::sum;
  TallyWindow window = TallyWindow::none;
  TallyValue value;
};

// Each bucket that holds something, by its start.
struct TallySeries {
  struct Row {
    Time at;
    TallyValue value;
  };

  TallyKind kind = TallyKind::sum;
  TallyWindow window = TallyWindow::none;
  std::vector<Row> rows;
};

// A range of a tally.
struct TallyRead {
  std::string name;
  TallyRange range;
};

struct ListedTally {
  std::string name;
  std::string kind;  // The name of its kind, or of the program's own monoid.
  TallyWindow window = TallyWindow::none;

  friend bool operator==(const ListedTally&, const ListedTally&) = default;
};
struct TallyPage {
  std::vector<ListedTally> tallies;
  std::string cursor;  // Empty at the end.

  friend bool operator==(const TallyPage&, const TallyPage&) = default;
};

// The plans. `key` is tally_key() of a name.
namespace tallies {

inline constexpr std::size_t kMaxInnerIds = 1'024;
inline constexpr std::size_t kMaxReads = 10'000;

// How large the states are together that one call may need, by their shapes; more is `too_large`.
inline constexpr std::size_t kMaxBytes = 64U << 20;
inline constexpr std::size_t kMaxRows = 100'000;  // Of a series; more is `too_large`.

Key tally_key(std::string_view name_space, std::string_view name);

// The kinds and windows of tallies as this process saw them last (docs/hazards.md#h21). A commit
// checks that they still stand, so they need not be read again. Bounded. Shared by all merges of a
// process; safe to share between threads.
class KnownTallies {
 public:
  KnownTallies();
  ~KnownTallies();

  // The tally's meta item.
  std::optional<Item> find(const Key& tally) const;
  void learn(const Key& tally, Item meta);
  void forget(const Key& tally);

 private:
  class Metas;
  std::unique_ptr<Metas> metas_;
};

// Merges the input into its bucket. One store call if the store can add or raise the integer by
// itself, two otherwise; one more if `known` does not have the tally, and another for the tally's
// first merge and, every few minutes, for one that has to be kept for longer. `known` may be null,
// and must outlive the plan.
Plan<TallyOutcome> merge(Key key, TallyRequest request, KnownTallies* known = nullptr);

// The existing tally of this name, if `request` cannot be merged into it. One get.
Plan<std::optional<OtherTally>> other_than(Key key, TallyRequest request);

// All retained buckets of the range as one value; an absent bucket is the identity. Empty if
// there is no such tally, or if all of it has expired. A tally of a program's own kind needs its
// monoid. `too_large` if more than `most_bytes` would have to be read.
Plan<std::optional<TallyReading>> read(Key key, TallyRange range, std::shared_ptr<const Monoid> own,
                                       std::size_t most_bytes = kMaxBytes);

// The same, bucket by bucket.
Plan<std::optional<TallySeries>> series(Key key, TallyRange range,
                                        std::shared_ptr<const Monoid> own,
                                        std::size_t most_bytes = kMaxBytes);

// One answer for each of up to kMaxReads keys, in order. Each tally is read once. `too_large` if
// more than `most_bytes` would have to be read.
Plan<std::vector<std::optional<TallyReading>>> read_all(std::vector<Key> keys, TallyRange range,
                                                        std::shared_ptr<const Monoid> own,
                                                        std::size_t most_bytes = kMaxBytes);

// The same with a range for each.
struct KeyedRange {
  Key key;
  TallyRange range;

  friend auto operator<=>(const KeyedRange&, const KeyedRange&) = default;
};
Plan<std::vector<std::optional<TallyReading>>> read_each(std::vector<KeyedRange> reads,
                                                         std::shared_ptr<const Monoid> own,
                                                         std::size_t most_bytes = kMaxBytes);

// Removes a tally: its buckets, its ids and its kind. False if there is none. A merge that is under
// way happens before the removal, or after it into a new tally. `unsupported` on a store that takes
// one write per commit. `known` may be null.
Plan<bool> remove(Key key, KnownTallies* known = nullptr);

// The tallies that hold something, or did until a few minutes ago.
Plan<TallyPage> list(std::string name_space, Listing listing);

// Removes the tallies of one page.
Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             KnownTallies* known = nullptr);

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
  virtual Result<std::vector<std::optional<TallyReading>>> read_each(
      std::span<const TallyRead> reads, std::shared_ptr<const Monoid> own = {},
      Duration within = kAttemptLife) = 0;
  virtual Result<std::optional<TallySeries>> series(std::string_view name,
                                                    const TallyRange& range = {},
                                                    std::shared_ptr<const Monoid> own = {},
                                                    Duration within = kAttemptLife) = 0;
  virtual Result<bool> remove(std::string_view name, Duration within = kAttemptLife) = 0;
  virtual Result<TallyPage> list(const Listing& listing = {}, Duration within = kAttemptLife) = 0;
  virtual Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run,
                                         Duration within = kAttemptLife) = 0;
};

}  // namespace once

// Reading tallies: all retained buckets of a range as one value.
#include <algorithm>

#include "once/tallies.h"
#include "primitives/keys.h"
#include "primitives/tally_order.h"

namespace once::tallies {
namespace {

// A tally that is being read: what it is, and what its buckets amount to so far.
struct Gathering {
  static Result<Gathering> of(const Item& meta, const MonoidPtr& own, Time now) {
    const Result<TallyMeta> found = decode_meta(meta.value);
    if (!found) return std::unexpected(found.error());
    std::optional<NamedMonoid> named = monoid_named(found->monoid, own);
    if (!named) return failure(ErrorCode::invalid, "reading needs the monoid " + found->monoid);
    Bytes state = named->monoid->identity();
    return Gathering{std::move(*named), found->window, std::move(state), now};
  }

  Result<void> take(const Item& item) {
    const Result<TallyBucket> bucket = decode_bucket(item, what.kind, *what.monoid);
    if (!bucket) return std::unexpected(bucket.error());
    if (bucket->until <= now) return {};
    Result<Bytes> merged = what.monoid->merge(state, bucket->state);
    if (!merged) return std::unexpected(std::move(merged.error()));
    state = std::move(*merged);
    return {};
  }

  TallyReading reading() const { return {what.kind, window, value_of(what.kind, state)}; }

  NamedMonoid what;
  TallyWindow window;
  Bytes state;
  Time now;
};

std::int64_t millis(Time time) { return time.time_since_epoch().count(); }

ScanRequest buckets_in(const Key& key, const TallyRange& range, const Limits& limits) {
  ScanRequest request{.partition = key.partition};
  if (range.from) request.first = std::max<std::int64_t>(0, millis(*range.from));
  if (range.to) request.last = std::max<std::int64_t>(0, millis(*range.to)) - 1;
  request.direction = limits.scans_ascending ? Direction::ascending : Direction::descending;
  return request;
}

Plan<std::monostate> gather_windows(Key key, TallyRange range, Gathering* gathering) {
  const Limits* limits = co_await store_limits();
  ScanRequest request = buckets_in(key, range, *limits);
  while (request.first <= request.last) {
    const ScanPage page = co_await scan(request);
    for (const Entry& entry : page.entries) {
      if (Result<void> taken = gathering->take(entry.item); !taken) {
        co_return std::unexpected(std::move(taken.error()));
      }
    }
    if (!page.more || page.entries.empty()) break;
    if (request.direction == Direction::ascending) {
      request.first = page.entries.back().sort + 1;
    } else {
      request.last = page.entries.back().sort - 1;
    }
  }
  co_return std::monostate{};
}

// `held` are the tally's meta and its one bucket, as far as they are there.
Plan<std::optional<TallyReading>> read_from(Key key, std::span<const std::optional<Item>> held,
                                            TallyRange range, MonoidPtr own) {
  if (!held[0]) co_return std::optional<TallyReading>();
  const Time now = co_await store_now();
  Result<Gathering> gathering = Gathering::of(*held[0], own, now);
  if (!gathering) co_return std::unexpected(gathering.error());
  if (gathering->window != TallyWindow::none) {
    co_await gather_windows(std::move(key), range, &*gathering);
  } else if (held[1]) {
    if (Result<void> taken = gathering->take(*held[1]); !taken) {
      co_return std::unexpected(std::move(taken.error()));
    }
  }
  co_return std::optional(gathering->reading());
}

}  // namespace

Plan<std::vector<std::optional<TallyReading>>> read_all(std::vector<Key> keys, TallyRange range,
                                                        std::shared_ptr<const Monoid> own) {
  if (keys.size() > kMaxReads) co_return failure(ErrorCode::invalid, "at most 10,000 tallies");
  const Limits* limits = co_await store_limits();
  const std::size_t chunk = std::max<std::size_t>(2, limits->keys_per_get / 2 * 2);
  std::vector<Key> wanted;
  for (const Key& key : keys) {
    wanted.push_back(keys::tally_meta(key));
    wanted.push_back(key);
  }
  std::vector<std::optional<TallyReading>> readings;
  for (std::size_t at = 0; at < wanted.size(); at += chunk) {
    const std::span<const Key> some =
        std::span(wanted).subspan(at).first(std::min(chunk, wanted.size() - at));
    const std::vector<std::optional<Item>> held = co_await get(some);
    for (std::size_t i = 0; i < held.size(); i += 2) {
      const std::span<const std::optional<Item>> pair = std::span(held).subspan(i, 2);
      std::optional<TallyReading> reading =
          co_await read_from(wanted[at + i + 1], pair, range, own);
      readings.push_back(std::move(reading));
    }
  }
  co_return std::move(readings);
}

Plan<std::optional<TallyReading>> read(Key key, TallyRange range,
                                       std::shared_ptr<const Monoid> own) {
  std::vector<Key> keys = {std::move(key)};
  auto readings = co_await read_all(std::move(keys), range, std::move(own));
  co_return std::move(readings.front());
}

}  // namespace once::tallies

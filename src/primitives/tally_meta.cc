#include "primitives/tally_meta.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/listing.h"
#include "primitives/recorded.h"

namespace once::tallies {
namespace {

using State = TallyMeta::State;

// For how long a process relies on what it has read, where tallies are removed. With an attempt's
// time it is less than the margin, for which a meta item stays after the last bucket, and after a
// removal.
constexpr Duration kTrust = std::chrono::minutes(2);
static_assert(kTrust + kAttemptLife < kMetaMargin);

Item trusted_for_now(Item meta, Time now) {
  meta.expiry = std::min(meta.expiry, later(now, kTrust));
  return meta;
}

// Where each bucket is still as it was read, and only while the meta item is the one that says
// "removing" (docs/hazards.md#h1).
Plan<std::monostate> erase_buckets(Partition buckets, Key meta_key, Version removing,
                                   std::vector<Entry> entries) {
  const Limits* limits = co_await store_limits();
  std::vector<std::array<Write, 2>> erases;
  for (const Entry& entry : entries) {
    erases.push_back({erase({buckets, entry.sort}, unchanged(entry.item.version)),
                      check(meta_key, unchanged(removing))});
  }
  for (std::size_t at = 0; at < erases.size(); at += limits->commits_per_group) {
    const std::size_t end = std::min(erases.size(), at + limits->commits_per_group);
    std::vector<std::span<Write>> each;
    for (std::size_t i = at; i < end; ++i) each.emplace_back(erases[i]);
    const std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(each);
    for (const Result<CommitOutcome>& outcome : outcomes) {
      if (!outcome) co_return std::unexpected(outcome.error());
    }
  }
  co_return std::monostate{};
}

// Whether all buckets have expired. The meta stays for a margin, which only the buckets tell apart
// from their time.
Plan<bool> is_over(Key key, const TallyMeta& meta, Time now) {
  if (meta.buckets_until == kNever || meta.buckets_until > later(now, kMetaMargin)) co_return false;
  const Limits* limits = co_await store_limits();
  ScanRequest request{.partition = keys::tally_bucket(key, meta.life).partition, .limit = 1};
  request.direction = limits->scans_ascending ? Direction::ascending : Direction::descending;
  const ScanPage page = co_await scan(request);
  const bool over = page.entries.empty();
  co_return over;
}

// The first step of a removal; finish_removal is the second. Empty if another was faster.
Plan<std::optional<Item>> begin_removal(Key key, Item item, TallyMeta meta, Recording recording) {
  const Key bucket = keys::tally_bucket(key, meta.life);
  meta.state = State::removing;
  std::array<Write, 2> both = {put(keys::tally_meta(key), encode(meta), unchanged(item.version)),
                               erase(bucket, anything())};
  const std::span<Write> writes = both;
  const CommitOutcome outcome = co_await commit_recorded(writes, recording);
  if (!committed(outcome)) co_return std::nullopt;
  co_return Item{both[0].value, both[0].version, both[0].expiry};
}

}  // namespace

Plan<MetaStep> plan_meta(PreparedMerge* merge, KnownTallies* known) {
  const Limits* limits = co_await store_limits();
  const bool one_commit = limits->writes_per_commit > 1;
  const Key key = keys::tally_meta(merge->key);
  std::optional<Item> met;  // Where another was faster.
  for (;;) {
    std::optional<Item> item = known != nullptr ? known->find(merge->key) : std::nullopt;
    if (item && expired(*item, merge->now)) item.reset();
    const bool cached = item.has_value();
    if (!cached) item = std::exchange(met, std::nullopt);
    if (!item) {
      item = co_await get(key);
      if (item && one_commit) item = trusted_for_now(std::move(*item), merge->now);
    }
    std::optional<TallyMeta> current;
    if (item) {
      Result<TallyMeta> found = decode_meta(item->value);
      if (!found) co_return std::unexpected(std::move(found.error()));
      current = std::move(*found);
    }
    if (current && current->state == State::removing) {
      co_await finish_removal(merge->key, std::move(*item));
      continue;
    }
    if (current && current->state == State::live && !current->same_shape(merge->shape())) {
      if (cached) {
        known->forget(merge->key);
        continue;
      }
      bool over = false;
      if (one_commit && current->ids_until <= merge->now) {
        over = co_await is_over(merge->key, *current, merge->now);
      }
      if (!over) co_return MetaStep{.other = OtherTally{current->monoid, current->window}};
      // The name is free for another kind, once this one is out of the way.
      const Recording unrecorded;
      (void)co_await begin_removal(merge->key, std::move(*item), *current, unrecorded);
      continue;
    }
    const TallyMeta next = merge->meta_after(current, one_commit);
    merge->life = next.life;
    if (current == next) {
      MetaStep step{.after = *item, .stands = one_commit};
      if (one_commit) {
        step.writes.push_back(check(key, unchanged(item->version)));
      } else if (known != nullptr) {
        known->learn(merge->key, *item);
      }
      co_return std::move(step);
    }
    Write write = put(key, encode(next), item ? unchanged(item->version) : absent(), next.expiry());
    write.version = co_await fresh_version();
    MetaStep step{.after = Item{write.value, write.version, write.expiry}};
    if (one_commit) step.after = trusted_for_now(std::move(step.after), merge->now);
    // More time is given before the merge, so that merges at the same time can be joined. It may be
    // taken only together with the bucket's.
    const bool shortens =
        current && current->state == State::live && next.buckets_until < current->buckets_until;
    if (shortens) {
      step.writes.push_back(std::move(write));
      co_return std::move(step);
    }
    CommitOutcome outcome = co_await commit_resolved(write);
    if (known != nullptr) known->forget(merge->key);
    if (!committed(outcome)) {
      met = std::move(std::get<Lost>(outcome).current);
      if (met && one_commit) met = trusted_for_now(std::move(*met), merge->now);
      continue;
    }
    if (one_commit) {
      step.writes.push_back(check(key, unchanged(write.version)));
    } else if (known != nullptr) {
      known->learn(merge->key, step.after);
    }
    co_return std::move(step);
  }
}

Plan<std::monostate> finish_removal(Key key, Item item) {
  Result<TallyMeta> meta = decode_meta(item.value);
  if (!meta) co_return std::unexpected(std::move(meta.error()));
  const Limits* limits = co_await store_limits();
  const Key meta_key = keys::tally_meta(key);
  ScanRequest request{.partition = keys::tally_bucket(key, meta->life).partition};
  request.direction = limits->scans_ascending ? Direction::ascending : Direction::descending;
  for (;;) {
    ScanPage page = co_await scan(request);
    if (page.entries.empty()) break;
    const std::int64_t last = page.entries.back().sort;
    co_await erase_buckets(request.partition, meta_key, item.version, std::move(page.entries));
    if (!page.more) break;
    (request.direction == Direction::ascending ? request.first : request.last) =
        request.direction == Direction::ascending ? last + 1 : last - 1;
  }
  const Time now = co_await store_now();
  TallyMeta next = std::move(*meta);
  next.state = State::removed;
  ++next.life;
  // Others may remember the tally for a while.
  next.ids_until = std::max(next.ids_until, later(now, kMetaMargin));
  Write write = put(meta_key, encode(next), unchanged(item.version), next.expiry());
  // Another may have finished it first.
  const CommitOutcome outcome = co_await commit_resolved(write);
  static_cast<void>(outcome);
  co_return std::monostate{};
}

Plan<bool> remove(Key key, KnownTallies* known) {
  return remove(std::move(key), known, Recording{});
}

Plan<bool> remove(Key key, KnownTallies* known, Recording recording) {
  const Limits* limits = co_await store_limits();
  if (limits->writes_per_commit == 1) {
    co_return failure(ErrorCode::unsupported, "this store cannot remove a tally");
  }
  const Key meta_key = keys::tally_meta(key);
  for (;;) {
    if (known != nullptr) known->forget(key);
    std::optional<Item> item = co_await get(meta_key);
    if (!item) co_return false;
    Result<TallyMeta> meta = decode_meta(item->value);
    if (!meta) co_return std::unexpected(std::move(meta.error()));
    if (meta->state == State::removed) co_return false;
    if (meta->state == State::live) {
      item = co_await begin_removal(key, std::move(*item), *meta, recording);
      if (!item) continue;
    }
    co_await finish_removal(std::move(key), std::move(*item));
    co_return true;
  }
}

Plan<TallyPage> list(std::string name_space, Listing listing) {
  TallyPage page;
  WalkRequest request{keys::tally_prefix(name_space) + listing.prefix, std::move(listing.cursor),
                      listing.limit};
  std::map<std::string, TallyMeta> ending;  // By name: perhaps only their margin is left.
  IsFound is_found = [&](ListPage::Listed& listed, Time now) -> Result<bool> {
    if (listed.key.partition.part != "m") return false;
    const Result<TallyMeta> meta = decode_meta(listed.item.value);
    const std::string name(keys::name_in(listed.key.partition.home));
    if (!meta) {
      page.tallies.push_back({.name = name, .kind = "corrupt"});
      return true;
    }
    if (meta->state != State::live || meta->buckets_until <= now) return false;
    page.tallies.push_back({name, meta->monoid.substr(0, meta->monoid.find('/')), meta->window});
    if (meta->buckets_until <= later(now, kMetaMargin)) ending.emplace(name, *meta);
    return true;
  };
  page.cursor = co_await walk(std::move(request), std::move(is_found));
  const Time now = co_await store_now();
  for (const auto& [name, meta] : ending) {
    Key key = keys::tally(name_space, name);
    const bool over = co_await is_over(std::move(key), meta, now);
    if (over) std::erase_if(page.tallies, [&](const auto& tally) { return tally.name == name; });
  }
  co_return std::move(page);
}

Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             KnownTallies* known) {
  return remove_all(std::move(name_space), std::move(listing), run, known, Recording{});
}

Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             KnownTallies* known, Recording recording) {
  const Limits* limits = co_await store_limits();
  if (limits->writes_per_commit == 1) {
    co_return failure(ErrorCode::unsupported, "this store cannot remove a tally");
  }
  const TallyPage page = co_await list(name_space, std::move(listing));
  BulkRemoved removed{.count = page.tallies.size(), .cursor = page.cursor};
  if (run == BulkRun::dry) co_return std::move(removed);
  removed.count = 0;
  for (const ListedTally& tally : page.tallies) {
    const bool was_there = co_await remove(keys::tally(name_space, tally.name), known, recording);
    removed.count += was_there ? 1 : 0;
  }
  co_return std::move(removed);
}

}  // namespace once::tallies

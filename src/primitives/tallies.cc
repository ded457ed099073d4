#include "once/tallies.h"

#include <algorithm>

#include "primitives/keys.h"
#include "primitives/landing.h"
#include "primitives/tally_order.h"

namespace once::tallies {
namespace {

constexpr Duration kFirstPause{10};
constexpr Duration kLongestPause{1'000};

Plan<std::monostate> back_off(int retry) {
  const Duration bound = std::min(kLongestPause, kFirstPause * (1 << std::min(retry, 10)));
  const std::uint64_t drawn = co_await random_number();
  co_await pause(
      Duration(static_cast<std::int64_t>(drawn % (static_cast<std::uint64_t>(bound.count()) + 1))));
  co_return std::monostate{};
}

// The tally's meta, which is `wanted` if it had none (H21).
Plan<TallyMeta> settle_meta(Key key, TallyMeta wanted) {
  std::optional<Item> standing = co_await get(key);
  while (!standing) {
    Write first = put(key, encode(wanted), absent_lasting());
    CommitOutcome outcome = co_await land(first);
    if (committed(outcome)) co_return std::move(wanted);
    standing = std::move(std::get<Lost>(outcome).standing);
  }
  co_return decode_meta(standing->value);
}

// A merge that is done must not look as if it failed because its value could not be read.
Plan<std::optional<TallyValue>> value_now(const Order* order) {
  const Key key = order->bucket_key();
  const Result<std::optional<Item>> standing = co_await attempt(get(key));
  co_return standing ? order->value_in(*standing) : std::nullopt;
}

std::unexpected<Error> doubt() {
  return failure(ErrorCode::unknown, "an earlier try may still take effect");
}

// How one try at a merge ended, if not with an error.
struct Tried {
  bool merged = false;
  std::optional<TallyValue> value;
  std::optional<Item> marker;  // That stood in the way.
};

Tried native_result(const Order& order, CommitOutcome outcome) {
  if (auto* lost = std::get_if<Lost>(&outcome)) return {false, {}, std::move(lost->standing)};
  const auto& numbers = std::get<Committed>(outcome).numbers;
  if (numbers.empty() || !numbers.back()) return {true, {}, {}};
  return {true, value_of(order.kind(), state_of_native(order.kind(), *numbers.back())), {}};
}

// By the store's own arithmetic, and with it the id's marker if there is one.
Plan<Tried> try_native(const Order* order, std::vector<Write> marker) {
  std::vector<Write> writes = std::move(marker);
  writes.push_back(order->native_write());
  CommitOutcome outcome = co_await commit(writes);
  co_return native_result(*order, std::move(outcome));
}

// By read, merge and write. Neither merged nor lost to a marker: another changed the bucket.
Plan<Tried> try_change(Order* order, std::vector<Write> marker) {
  Verdict verdict = Verdict::merged;
  Change wanted = order->change(verdict);
  wanted.also = std::move(marker);
  ChangeOutcome outcome = co_await change(wanted);
  if (auto* changed = std::get_if<Changed>(&outcome)) {
    co_return Tried{true, order->value_in(changed->standing), {}};
  }
  auto* lost = std::get_if<Lost>(&outcome);
  co_return Tried{false, {}, lost != nullptr ? std::move(lost->standing) : std::nullopt};
}

Plan<TallyOutcome> merged(const Order* order, std::optional<TallyValue> value, bool replayed) {
  if (!value) value = co_await value_now(order);
  co_return Tallied{replayed, std::move(value)};
}

// Without an id: what may have been written is sent again only if a repeat changes nothing.
Plan<TallyOutcome> merge_unnamed(Order* order) {
  const std::vector<Write> unmarked;
  bool native = is_native(order->kind());
  bool unsure = false;
  for (int retry = 0;; ++retry) {
    Plan<Tried> plan = native ? try_native(order, unmarked) : try_change(order, unmarked);
    Result<Tried> tried = co_await attempt(std::move(plan));
    if (tried && tried->merged) co_return co_await merged(order, std::move(tried->value), false);
    if (!tried) {
      const ErrorCode code = tried.error().code;
      if (native && code == ErrorCode::invalid) {
        native = false;  // It overflows, or the bucket holds ids beside its number.
        continue;
      }
      unsure = unsure || (code == ErrorCode::unknown && order->monoid->idempotent());
      if (!unsure) co_return std::unexpected(tried.error());
      if (code != ErrorCode::unknown && code != ErrorCode::unavailable) co_return doubt();
    }
    co_await back_off(retry);
    order->now = co_await store_now();  // A bucket is kept from the change that is stored.
  }
}

// The marker of this id stands: it tells whose it is.
Plan<TallyOutcome> answer_by_marker(Order* order, Version ours, Item marker) {
  const Result<TallyMarker> found = decode_marker(marker.value);
  if (!found) co_return std::unexpected(found.error());
  if (!order->same_input(*found)) co_return TallyMismatch{};
  order->bucket = found->bucket;
  co_return co_await merged(order, std::nullopt, marker.version != ours);
}

// Marker and bucket are one commit, which its own marker keeps from happening twice.
Plan<TallyOutcome> merge_marked(Order* order) {
  Write marker = order->marker();
  marker.version = co_await fresh_version();
  std::vector<Write> also = {marker};
  bool native = is_native(order->kind());
  bool unsure = false;
  for (int retry = 0;; ++retry) {
    Plan<Tried> plan = native ? try_native(order, also) : try_change(order, also);
    Result<Tried> tried = co_await attempt(std::move(plan));
    if (tried && tried->merged) co_return co_await merged(order, std::move(tried->value), false);
    std::optional<Item> standing = tried ? std::move(tried->marker) : std::nullopt;
    if (!tried) {
      unsure = unsure || tried.error().code == ErrorCode::unknown;
      if (!unsure && tried.error().code == ErrorCode::invalid && native) {
        native = false;
        continue;
      }
      if (!unsure) co_return std::unexpected(tried.error());
    }
    if (!standing) {
      co_await back_off(retry);
      Result<std::optional<Item>> read = co_await attempt(get(marker.key));
      if (read) standing = std::move(*read);
    }
    if (standing) co_return co_await answer_by_marker(order, marker.version, std::move(*standing));
    if (!tried && tried.error().code == ErrorCode::invalid) co_return doubt();
  }
}

// Fixes the id's bucket before anything is merged, so that every retry goes to the same (H20).
// False if the id was used for another input.
Plan<bool> pin(Order* order) {
  for (;;) {
    Write marker = order->marker();
    const CommitOutcome outcome = co_await land(marker);
    if (committed(outcome)) co_return true;
    const std::optional<Item>& standing = std::get<Lost>(outcome).standing;
    if (!standing) continue;
    const Result<TallyMarker> found = decode_marker(standing->value);
    if (!found) co_return std::unexpected(found.error());
    if (!order->same_input(*found)) co_return false;
    order->bucket = found->bucket;
    order->kept_until = found->kept_until;
    co_return true;
  }
}

TallyOutcome outcome_of(const Order& order, Verdict verdict, const Changed& changed) {
  if (verdict == Verdict::mismatch) return TallyMismatch{};
  if (verdict == Verdict::full) return TooManyIds{};
  return Tallied{verdict == Verdict::replayed, order.value_in(changed.standing)};
}

// The id is inside the bucket. A try whose outcome is unknown is made again: it finds its id if it
// landed, and cannot land any more once another write stands there.
Plan<TallyOutcome> merge_inside(Order* order) {
  if (order->windowed()) {
    const bool same_input = co_await pin(order);
    if (!same_input) co_return TallyMismatch{};
  }
  Verdict verdict = Verdict::merged;
  Change wanted = order->change(verdict);
  bool unsure = false;
  for (int retry = 0;; ++retry) {
    const Result<ChangeOutcome> outcome = co_await attempt(change(wanted));
    if (outcome) {
      const auto* changed = std::get_if<Changed>(&*outcome);
      if (changed != nullptr) co_return outcome_of(*order, verdict, *changed);
    } else {
      unsure = unsure || outcome.error().code == ErrorCode::unknown;
      if (!unsure || outcome.error().code == ErrorCode::invalid) {
        co_return std::unexpected(outcome.error());
      }
    }
    co_await back_off(retry);
  }
}

}  // namespace

Key tally_key(std::string_view name_space, std::string_view name) {
  return keys::tally(name_space, name);
}

Plan<std::optional<OtherTally>> other_than(Key key, TallyRequest request) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<Order> order = Order::of(std::move(key), std::move(request), now, *limits);
  if (!order) co_return std::unexpected(order.error());
  const Key place = keys::tally_meta(order->key);
  const std::optional<Item> standing = co_await get(place);
  if (!standing) co_return std::optional<OtherTally>();
  const Result<TallyMeta> meta = decode_meta(standing->value);
  if (!meta) co_return std::unexpected(meta.error());
  if (*meta == order->meta()) co_return std::optional<OtherTally>();
  co_return std::optional<OtherTally>(OtherTally{meta->monoid, meta->window});
}

Plan<TallyOutcome> merge(Key key, TallyRequest request, KnownTallies* known) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<Order> order = Order::of(std::move(key), std::move(request), now, *limits);
  if (!order) co_return std::unexpected(order.error());
  order->nonce = co_await random_number();
  if (limits->may_forget) known = nullptr;
  Bytes meta = encode(order->meta());
  if (known == nullptr || !known->holds(order->key, meta)) {
    const TallyMeta standing = co_await settle_meta(keys::tally_meta(order->key), order->meta());
    if (standing != order->meta()) co_return OtherTally{standing.monoid, standing.window};
    if (known != nullptr) known->learn(order->key, std::move(meta));
  }
  if (!order->named()) co_return co_await merge_unnamed(&*order);
  if (order->ids_inside) co_return co_await merge_inside(&*order);
  co_return co_await merge_marked(&*order);
}

}  // namespace once::tallies

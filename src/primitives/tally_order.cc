#include "primitives/tally_order.h"

#include <algorithm>

#include "primitives/keys.h"

namespace once::tallies {
namespace {

constexpr Duration kMaxTtl = std::chrono::years(10);
constexpr std::size_t kRecordRoom = 64;  // What a bucket's record adds to its state, at most.

Result<void> check_times(const TallyRequest& request) {
  if (request.ttl && (*request.ttl < Duration(1) || *request.ttl > kMaxTtl)) {
    return failure(ErrorCode::invalid, "a ttl is 1 ms to 10 years");
  }
  if (request.id_ttl < kAttemptLife || request.id_ttl > kMaxTtl) {
    return failure(ErrorCode::invalid, "an id's ttl is 1 minute to 10 years");
  }
  if (request.at && *request.at < Time{}) {
    return failure(ErrorCode::invalid, "`at` lies before 1970");
  }
  return {};
}

Result<void> check_request(const TallyRequest& request) {
  if (request.shape.window > TallyWindow::day) {
    return failure(ErrorCode::invalid, "no such window");
  }
  if (!request.id.empty()) {
    if (Result<void> ok = keys::check_name(request.id); !ok) return ok;
  }
  return check_times(request);
}

// Before the first write: a tally whose bucket or marker can never be written shall not exist.
Result<void> check_fit(const Order& order, const Limits& limits) {
  if (order.input.size() + kRecordRoom > limits.value_bytes) {
    return failure(ErrorCode::too_large, "too large for a value of this store");
  }
  const Partition longest = keys::tally_id(order.key, order.request.id).partition;
  if (longest.home.size() + longest.part.size() > limits.partition_bytes) {
    return failure(ErrorCode::invalid, "key and id are too long for this store");
  }
  return {};
}

}  // namespace

Duration width_of(TallyWindow window) {
  switch (window) {
    case TallyWindow::none: return Duration::zero();
    case TallyWindow::minute: return std::chrono::minutes(1);
    case TallyWindow::hour: return std::chrono::hours(1);
    case TallyWindow::day: return std::chrono::days(1);
  }
  return Duration::zero();
}

Result<Order> Order::of(Key key, TallyRequest request, Time now, const Limits& limits) {
  if (Result<void> ok = check_request(request); !ok) return std::unexpected(std::move(ok.error()));
  Result<MonoidPtr> monoid = monoid_of(request.shape);
  if (!monoid) return std::unexpected(std::move(monoid.error()));
  Result<Bytes> input = state_of(request.shape, **monoid, request.input);
  if (!input) return std::unexpected(std::move(input.error()));
  Order order;
  order.key = std::move(key);
  order.request = std::move(request);
  order.monoid = std::move(*monoid);
  order.input = std::move(*input);
  if (Result<void> ok = check_fit(order, limits); !ok)
    return std::unexpected(std::move(ok.error()));
  order.input_hash = hash_of_input(order.monoid->name(), order.input);
  order.now = now;
  order.kept_until = later(now, order.request.id_ttl);
  order.clock_error = limits.clock_error;
  order.ids_inside = order.named() && limits.writes_per_commit == 1;
  if (order.windowed()) {
    const Duration since = order.request.at.value_or(now).time_since_epoch();
    order.bucket = (since - since % width_of(order.request.shape.window)).count();
    if (order.bucket_expiry() <= now) {
      return failure(ErrorCode::invalid, "`at` lies before all that is retained");
    }
  }
  return order;
}

Time Order::bucket_expiry() const {
  if (!request.ttl) return kNever;
  if (!windowed()) return later(now, *request.ttl);
  return later(later(Time(Duration(bucket)), width_of(request.shape.window)), *request.ttl);
}

Write Order::marker() const {
  return put(keys::tally_id(key, request.id), encode(TallyMarker{input_hash, bucket, kept_until}),
             absent_lasting(), kept_until);
}

Write Order::native_write() const {
  const std::int64_t number = native_of(kind(), input);
  const bool adds = kind() == TallyKind::sum || kind() == TallyKind::count;
  return adds ? add(bucket_key(), number, anything(), bucket_expiry())
              : raise(bucket_key(), number, anything(), bucket_expiry());
}

Change Order::change(Verdict& verdict) {
  return {.key = bucket_key(),
          .apply = [this, &verdict](const auto& standing) { return edit(standing, verdict); },
          .also = {},
          .part = ids_inside ? nullptr : this};
}

// States are merged in any grouping: all inputs first, which are small, and then the bucket's.
Apply Order::joined(std::span<Joinable* const> parts) {
  const auto worth = std::make_shared<Worth>();
  Order joint = *this;
  joint.input = monoid->identity();
  for (Joinable* part : parts) {
    auto* const order = dynamic_cast<Order*>(part);
    if (order == nullptr || order->monoid->name() != monoid->name()) return {};
    Result<Bytes> merged = monoid->merge(joint.input, order->input);
    if (!merged) return {};
    joint.input = std::move(*merged);
    order->worth_ = worth;
  }
  return [joint = std::move(joint)](const auto& standing) {
    Verdict verdict = Verdict::merged;
    return joint.edit(standing, verdict);
  };
}

Result<Edit> Order::edit(const std::optional<Item>& standing, Verdict& verdict) const {
  TallyBucket bucket_now{monoid->identity(), kNever, {}};
  if (standing) {
    Result<TallyBucket> decoded = decode_bucket(*standing, kind(), *monoid);
    if (!decoded) return std::unexpected(std::move(decoded.error()));
    bucket_now = std::move(*decoded);
    if (bucket_now.until <= now) bucket_now.state = monoid->identity();
  }
  // Kept a little longer than their markers, whatever clock those are judged by.
  std::erase_if(bucket_now.ids,
                [&](const InnerId& id) { return later(id.kept_until, clock_error) <= now; });
  verdict = ids_inside ? learn_id(bucket_now.ids) : Verdict::merged;
  if (verdict != Verdict::merged) return Keep{};
  Result<Bytes> merged = monoid->merge(bucket_now.state, input);
  if (!merged) return std::unexpected(std::move(merged.error()));
  bucket_now.state = std::move(*merged);
  bucket_now.until = bucket_expiry();
  return Replace{encode(bucket_now, kind()), expiry_of(bucket_now)};
}

Verdict Order::learn_id(std::vector<InnerId>& ids) const {
  const auto found = std::ranges::find(ids, request.id, &InnerId::id);
  if (found == ids.end()) {
    if (ids.size() >= kMaxInnerIds) return Verdict::full;
    ids.push_back({request.id, input_hash, nonce, kept_until});
    return Verdict::merged;
  }
  if (found->input_hash != input_hash) return Verdict::mismatch;
  return found->nonce == nonce ? Verdict::landed : Verdict::replayed;
}

std::optional<TallyValue> Order::value_in(const std::optional<Item>& standing) const {
  if (!worth_ || !standing) return read_value(standing);
  if (worth_->version != standing->version) {
    *worth_ = {standing->version, read_value(standing)};
  }
  return worth_->value;
}

std::optional<TallyValue> Order::read_value(const std::optional<Item>& standing) const {
  if (!standing) return value_of(kind(), monoid->identity());
  const Result<TallyBucket> found = decode_bucket(*standing, kind(), *monoid);
  if (!found) return std::nullopt;
  return value_of(kind(), found->until <= now ? monoid->identity() : found->state);
}

}  // namespace once::tallies

// A merge into a bucket that holds anything: what is corrupt is refused, so that nothing is
// written; what is written can be read, and knows its id.
#include "fuzz/record_laws.h"
#include "fuzz/tally_inputs.h"
#include "primitives/tally_order.h"

namespace once::fuzz {
namespace {

using tallies::Order;
using tallies::Verdict;

constexpr Time kNow{Duration(1'700'000'000'000)};

Result<Order> order_of(FuzzedDataProvider& input) {
  const TallyShape shape = shape_of(input);
  TallyRequest request{.shape = shape, .input = input_of(input, shape.kind)};
  if (input.ConsumeBool()) request.id = "id";
  if (input.ConsumeBool()) request.ttl = std::chrono::hours(48);
  const Limits limits{.writes_per_commit = input.ConsumeBool() ? 1U : 100U,
                      .value_bytes = 1U << 20,
                      .partition_bytes = 2'048,
                      .clock_error = Duration(2'000)};
  Result<Order> order =
      Order::of(tallies::tally_key("fuzz", "t"), std::move(request), kNow, limits);
  if (order) order->nonce = input.ConsumeIntegral<std::uint64_t>();
  return order;
}

Bytes state_of(FuzzedDataProvider& input, TallyKind kind) {
  const Bytes fields = input.ConsumeRemainingBytesAsString();
  if (kind == TallyKind::distinct) return checksummed(RecordKind::distinct, fields);
  if (kind == TallyKind::top) return checksummed(RecordKind::top, fields);
  if (kind == TallyKind::bloom) return checksummed(RecordKind::bloom, fields);
  return fields;
}

// A record with any state, and an id that may be the order's.
Value bucket_of(FuzzedDataProvider& input, const Order& order) {
  tallies::TallyBucket bucket;
  bucket.until = time_of(input);
  bucket.ids.push_back({.id = input.ConsumeBool() ? "id" : "other",
                        .input_hash = input.ConsumeBool() ? order.input_hash : "another",
                        .nonce = input.ConsumeBool() ? order.nonce : 7,
                        .kept_until = time_of(input)});
  bucket.state = state_of(input, order.kind());
  return encode(bucket, order.kind());
}

// What stands in the bucket: nothing, a number, any bytes, the fields of a record, or a record.
std::optional<Item> standing_of(FuzzedDataProvider& input, const Order& order) {
  Item item{.version = {1}};
  switch (input.ConsumeIntegralInRange(0, 4)) {
    case 0: return std::nullopt;
    case 1: item.value = input.ConsumeIntegral<std::int64_t>(); break;
    case 2: item.value = input.ConsumeRemainingBytesAsString(); break;
    case 3:
      item.value = checksummed(RecordKind::tally, input.ConsumeRemainingBytesAsString());
      break;
    default: item.value = bucket_of(input, order);
  }
  return item;
}

void check_refusal(const Order& order, const std::optional<Item>& standing, ErrorCode code) {
  const bool sound = !standing || tallies::decode_bucket(*standing, order.kind(), *order.monoid);
  require(sound ? code == ErrorCode::invalid : code != ErrorCode::invalid);
  if (!sound) require(code == ErrorCode::corrupt || code == ErrorCode::unsupported);
}

// Once more on its own result: the id keeps it out, or it is merged again, which changes nothing
// if the kind says so.
void check_again(const Order& order, const Item& after) {
  Verdict verdict = Verdict::merged;
  const Result<Edit> edit = order.edit(after, verdict);
  if (order.ids_inside) {
    require(edit && std::holds_alternative<Keep>(*edit) && verdict == Verdict::landed);
  } else if (order.monoid->idempotent()) {
    require(edit && std::get<Replace>(*edit).value == after.value);
  } else {
    require(!edit || std::holds_alternative<Replace>(*edit));
  }
}

void check_merge(const Order& order, const std::optional<Item>& standing) {
  Verdict verdict = Verdict::merged;
  const Result<Edit> edit = order.edit(standing, verdict);
  if (!edit) return check_refusal(order, standing, edit.error().code);
  require(std::holds_alternative<Replace>(*edit) == (verdict == Verdict::merged));
  if (verdict != Verdict::merged) return;
  const auto& made = std::get<Replace>(*edit);
  const Item after{.value = made.value, .version = {2}, .expiry = made.expiry};
  require(after.expiry > kNow && order.value_in(after).has_value());
  check_again(order, after);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once::fuzz;
  FuzzedDataProvider input(data, size);
  const auto order = order_of(input);
  if (order) check_merge(*order, standing_of(input, *order));
  return 0;
}

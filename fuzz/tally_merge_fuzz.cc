// A merge into a bucket with arbitrary bytes: a corrupt bucket is refused, so that nothing is
// written; a written one can be read, and contains the id.
#include "fuzz/record_laws.h"
#include "fuzz/tally_inputs.h"
#include "primitives/prepared_merge.h"

namespace once::fuzz {
namespace {

using tallies::MergeResult;
using tallies::PreparedMerge;

constexpr Time kNow{Duration(1'700'000'000'000)};

Result<PreparedMerge> merge_of(FuzzedDataProvider& input) {
  const TallyShape shape = shape_of(input);
  TallyRequest request{.shape = shape, .input = input_of(input, shape.kind)};
  if (input.ConsumeBool()) request.id = "id";
  if (input.ConsumeBool()) request.ttl = std::chrono::hours(48);
  const Limits limits{.writes_per_commit = input.ConsumeBool() ? 1U : 100U,
                      .value_bytes = 1U << 20,
                      .partition_bytes = 2'048,
                      .clock_error = Duration(2'000)};
  Result<PreparedMerge> merge =
      tallies::prepare_merge(tallies::tally_key("fuzz", "t"), std::move(request), kNow, limits);
  if (merge) merge->nonce = input.ConsumeIntegral<std::uint64_t>();
  return merge;
}

Bytes state_of(FuzzedDataProvider& input, TallyKind kind) {
  const Bytes fields = input.ConsumeRemainingBytesAsString();
  if (kind == TallyKind::distinct) return checksummed(RecordKind::distinct, fields);
  if (kind == TallyKind::top) return checksummed(RecordKind::top, fields);
  if (kind == TallyKind::bloom) return checksummed(RecordKind::bloom, fields);
  return fields;
}

// A record with an arbitrary state, and an id that may be the merge's.
Value bucket_of(FuzzedDataProvider& input, const PreparedMerge& merge) {
  tallies::TallyBucket bucket;
  bucket.until = time_of(input);
  bucket.ids.push_back({.id = input.ConsumeBool() ? "id" : "other",
                        .input_hash = input.ConsumeBool() ? merge.input_hash() : Bytes("another"),
                        .nonce = input.ConsumeBool() ? merge.nonce : 7,
                        .kept_until = time_of(input)});
  bucket.state = state_of(input, merge.kind());
  return encode(bucket, merge.kind());
}

// The bucket: absent, a number, arbitrary bytes, arbitrary fields, or a record.
std::optional<Item> item_of(FuzzedDataProvider& input, const PreparedMerge& merge) {
  Item item{.version = {1}};
  switch (input.ConsumeIntegralInRange(0, 4)) {
    case 0: return std::nullopt;
    case 1: item.value = input.ConsumeIntegral<std::int64_t>(); break;
    case 2: item.value = input.ConsumeRemainingBytesAsString(); break;
    case 3:
      item.value = checksummed(RecordKind::tally, input.ConsumeRemainingBytesAsString());
      break;
    default: item.value = bucket_of(input, merge);
  }
  return item;
}

void check_refusal(const PreparedMerge& merge, const std::optional<Item>& current, ErrorCode code) {
  const bool sound = !current || tallies::decode_bucket(*current, merge.kind(), *merge.monoid);
  require(sound ? code == ErrorCode::invalid : code != ErrorCode::invalid);
  if (!sound) require(code == ErrorCode::corrupt || code == ErrorCode::unsupported);
}

// Merged again into its own result: the id prevents it, or, for an idempotent kind, nothing
// changes.
void check_again(const PreparedMerge& merge, const Item& after) {
  MergeResult result = MergeResult::merged;
  const Result<Edit> edit = merge.edit(after, result);
  if (merge.ids_in_bucket) {
    require(edit && std::holds_alternative<Keep>(*edit) && result == MergeResult::merged_earlier);
  } else if (merge.monoid->idempotent()) {
    require(edit && std::get<Replace>(*edit).value == after.value);
  } else {
    require(!edit || std::holds_alternative<Replace>(*edit));
  }
}

void check_merge(const PreparedMerge& merge, const std::optional<Item>& current) {
  MergeResult result = MergeResult::merged;
  const Result<Edit> edit = merge.edit(current, result);
  if (!edit) return check_refusal(merge, current, edit.error().code);
  require(std::holds_alternative<Replace>(*edit) == (result == MergeResult::merged));
  if (result != MergeResult::merged) return;
  const auto& made = std::get<Replace>(*edit);
  const Item after{.value = made.value, .version = {2}, .expiry = made.expiry};
  require(after.expiry > kNow && merge.value_in(after).has_value());
  check_again(merge, after);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once::fuzz;
  FuzzedDataProvider input(data, size);
  const auto merge = merge_of(input);
  if (merge) check_merge(*merge, item_of(input, *merge));
  return 0;
}

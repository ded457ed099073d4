// The items of a tally: meta items, markers and buckets.
#include "fuzz/record_laws.h"
#include "fuzz/tally_inputs.h"
#include "primitives/tally_record.h"

namespace once::fuzz {
namespace {

using tallies::TallyBucket;
using tallies::TallyMarker;
using tallies::TallyMeta;

Bytes encode_meta(const TallyMeta& meta) { return tallies::encode(meta); }
Bytes encode_marker(const TallyMarker& marker) { return tallies::encode(marker); }

void check_bucket_bytes(const Bytes& bytes, TallyKind kind, const Monoid& monoid) {
  const auto decode = [&](const Bytes& value) {
    return tallies::decode_bucket({.value = value, .version = {1}}, kind, monoid);
  };
  const auto encode = [&](const TallyBucket& bucket) {
    return std::get<Bytes>(tallies::encode(bucket, kind));
  };
  check_decoding_of(RecordKind::tally, bytes, decode, encode);
}

// A bucket as the plans write it: with ids, or as the store merges it by itself.
void check_bucket(const TallyBucket& bucket, TallyKind kind, const Monoid& monoid) {
  const Value value = tallies::encode(bucket, kind);
  require(std::holds_alternative<std::int64_t>(value) ==
          (tallies::is_native(kind) && bucket.ids.empty()));
  const Item item{.value = value, .version = {1}, .expiry = tallies::expiry_of(bucket)};
  const auto again = tallies::decode_bucket(item, kind, monoid);
  require(again && *again == bucket);
}

TallyBucket bucket_of(FuzzedDataProvider& input, Bytes state) {
  TallyBucket bucket{.state = std::move(state), .until = time_of(input)};
  while (input.remaining_bytes() > 0 && bucket.ids.size() < tallies::kMaxInnerIds) {
    bucket.ids.push_back({.id = input.ConsumeRandomLengthString(),
                          .input_hash = input.ConsumeBytesAsString(16),
                          .nonce = input.ConsumeIntegral<std::uint64_t>(),
                          .kept_until = time_of(input)});
  }
  return bucket;
}

// A name belongs to one shape, whose monoid has this name.
void check_name(const std::string& name) {
  const auto found = tallies::monoid_named(name, nullptr);
  if (found) require(found->monoid->name() == name && found->kind != TallyKind::own);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const Bytes bytes(reinterpret_cast<const char*>(data), size);
  check_decoding_of(RecordKind::tally_meta, bytes, tallies::decode_meta, encode_meta);
  check_decoding_of(RecordKind::tally_id, bytes, tallies::decode_marker, encode_marker);
  check_name(bytes);

  FuzzedDataProvider input(data, size);
  const TallyShape shape = shape_of(input);
  const auto monoid = tallies::monoid_of(shape).value();
  check_bucket_bytes(bytes, shape.kind, *monoid);

  const TallyInput merged = input_of(input, shape.kind);
  const Result<Bytes> state = tallies::state_of(shape, *monoid, merged);
  if (!state) return 0;
  check_encoding(TallyMeta{monoid->name(), shape.window}, tallies::decode_meta, encode_meta);
  const Time until = time_of(input);
  check_encoding(TallyMarker{tallies::hash_of_input(monoid->name(), *state),
                             input.ConsumeIntegralInRange<std::int64_t>(0, INT64_MAX), until},
                 tallies::decode_marker, encode_marker);
  check_bucket(bucket_of(input, *state), shape.kind, *monoid);
  return 0;
}

// Filters: arbitrary bytes as a state, and two arbitrary states merged.
#include "fuzz/sketch_laws.h"
#include "primitives/sketches/bloom.h"

namespace once::fuzz {
namespace {

using sketches::Bloom;
using sketches::BloomShape;

// Merging in a record's bytes gives what merging its filter gives.
void check_in_place(const Bloom& a, const Bloom& b) {
  Bytes stored = a.encode_dense();
  Bloom merged = Bloom::decode(stored).value();
  const Result<void> ok = merged.merge(b);
  const Result<bool> in_place = Bloom::merge_in_place(stored, b.encode());
  require(in_place.has_value() == ok.has_value());
  require(stored == (ok ? merged.encode() : a.encode_dense()));
}

void check_pair(const Bloom& a, const Bloom& b, std::string_view item) {
  check_in_place(a, b);
  const Result<Bloom> both = check_merge(a, b);
  require(both.has_value() == (a.shape() == b.shape()));
  if (!both) return;
  check_idempotence(a, *both);
  check_idempotence(b, *both);
  check_idempotence(Bloom::make(a.shape()).value(), a);
  require(both->may_contain(item) || !(a.may_contain(item) || b.may_contain(item)));
}

// An item that was added is always found, before and after any merge.
void check_item(Bloom filter, std::string_view item) {
  const Bloom before = filter;
  filter.add(item);
  require(filter.may_contain(item));
  check_sketch(filter);
  check_idempotence(before, filter);
}

// A shape gives a filter that can be stored, or is invalid.
void check_shape(FuzzedDataProvider& input) {
  const BloomShape shape{.capacity = input.ConsumeIntegralInRange<std::uint64_t>(0, 1'000),
                         .rate = input.ConsumeFloatingPoint<double>()};
  const Result<Bloom> filter = Bloom::make(shape);
  if (filter) {
    check_item(*filter, input.ConsumeRemainingBytesAsString());
  } else {
    require(filter.error().code == ErrorCode::invalid);
  }
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const auto [one, other] = cut_in_two({reinterpret_cast<const char*>(data), size});
  const Result<Bloom> a = sketch_in<Bloom>(RecordKind::bloom, one);
  const Result<Bloom> b = sketch_in<Bloom>(RecordKind::bloom, other);
  if (a && b) check_pair(*a, *b, one);
  if (a) check_item(*a, other);
  FuzzedDataProvider input(data, size);
  check_shape(input);
  return 0;
}

// Distinct counts: arbitrary bytes as a state, and two arbitrary states merged.
#include <cmath>

#include "fuzz/sketch_laws.h"
#include "primitives/sketches/distinct.h"

namespace once::fuzz {
namespace {

using sketches::Distinct;

void check_estimate(const Distinct& sketch) {
  const double estimate = sketch.estimate();
  require(!std::isnan(estimate) && estimate >= 0);
  require((estimate == 0) == (sketch == Distinct(sketch.precision())));
}

void check_pair(const Distinct& a, const Distinct& b) {
  check_estimate(a);
  const Result<Distinct> both = check_merge(a, b);
  require(both.has_value() == (a.precision() == b.precision()));
  if (!both) return;
  check_estimate(*both);
  check_idempotence(a, *both);
  check_idempotence(b, *both);
  check_idempotence(Distinct(a.precision()), a);
}

// An item of either sketch is in their union: adding it again changes nothing.
void check_items(FuzzedDataProvider& input, const Distinct& start) {
  Distinct left = start;
  Distinct right(start.precision());
  Distinct all = start;
  while (input.remaining_bytes() > 0) {
    Distinct& side = input.ConsumeBool() ? left : right;
    const std::string item = input.ConsumeRandomLengthString(8);
    side.add(item);
    all.add(item);
  }
  const Result<Distinct> both = check_merge(left, right);
  require(both && *both == all);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const auto [one, other] = cut_in_two({reinterpret_cast<const char*>(data), size});
  const Result<Distinct> a = sketch_in<Distinct>(RecordKind::distinct, one);
  const Result<Distinct> b = sketch_in<Distinct>(RecordKind::distinct, other);
  if (a && b) check_pair(*a, *b);
  FuzzedDataProvider input(data, size);
  check_items(input, a.value_or(Distinct(sketches::kMinPrecision)));
  return 0;
}

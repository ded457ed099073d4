// Shapes and inputs of tallies, from a fuzzer's bytes. Sketches have the smallest shapes, so that a
// short input reaches every form.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <array>

#include "once/tallies.h"

namespace once::fuzz {

inline TallyShape shape_of(FuzzedDataProvider& input) {
  using enum TallyKind;
  constexpr std::array kKinds = {sum, real, count, max, min, distinct, top, bloom};
  constexpr std::array kWindows = {TallyWindow::none, TallyWindow::minute, TallyWindow::hour,
                                   TallyWindow::day};
  return {.kind = input.PickValueInArray(kKinds),
          .window = input.PickValueInArray(kWindows),
          .precision = 8,
          .counters = 2,
          .capacity = 10,
          .rate = 0.1};
}

inline TallyInput items_of(FuzzedDataProvider& input) {
  std::vector<CountedItem> items(input.ConsumeIntegralInRange<std::size_t>(0, 100));
  for (CountedItem& counted : items) {
    counted = {.item = input.ConsumeRandomLengthString(4),
               .count = input.ConsumeIntegral<std::uint64_t>()};
  }
  return items;
}

inline TallyInput input_of(FuzzedDataProvider& input, TallyKind kind) {
  if (kind == TallyKind::real) return input.ConsumeFloatingPoint<double>();
  if (kind < TallyKind::distinct) return input.ConsumeIntegral<std::int64_t>();
  return items_of(input);
}

}  // namespace once::fuzz

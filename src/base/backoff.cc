#include "base/backoff.h"

#include <algorithm>

namespace once {
namespace {

constexpr int kMostDoublings = 20;

}  // namespace

Duration PauseBounds::pause(int retry, std::uint64_t random) const {
  Duration bound = first;
  for (int i = 0; i < std::min(retry, kMostDoublings) && bound < longest; ++i) bound *= 2;
  bound = std::min(bound, longest);
  if (bound <= shortest) return shortest;
  const auto choices = static_cast<std::uint64_t>((bound - shortest).count()) + 1;
  return shortest + Duration(static_cast<std::int64_t>(random % choices));
}

bool Backoff::pause() {
  const Duration length = next();
  if (length > until_ - clock_.now()) return false;
  if (length > Duration::zero()) clock_.sleep(length);
  return true;
}

}  // namespace once

#include "primitives/landing.h"

#include <algorithm>

namespace once {
namespace {

constexpr Duration kFirstPause{10};
constexpr Duration kLongestPause{1'000};

// Whether what stands there leaves the guard open, so that the write may still be on its way.
bool open_to(const Guard& guard, const std::optional<Item>& standing) {
  if (guard.kind == Guard::Kind::absent) return !standing;
  return standing && standing->version == guard.version;
}

bool is_ours(const Write& write, const std::optional<Item>& standing) {
  return standing && standing->version == write.version;
}

bool may_pass(ErrorCode code) {
  return code == ErrorCode::unknown || code == ErrorCode::unavailable;
}

Plan<std::monostate> pause_before(int retry) {
  const Duration bound = std::min(kLongestPause, kFirstPause * (1 << std::min(retry, 10)));
  const std::uint64_t drawn = co_await random_number();
  co_await pause(
      Duration(static_cast<std::int64_t>(drawn % (static_cast<std::uint64_t>(bound.count()) + 1))));
  co_return std::monostate{};
}

}  // namespace

Plan<CommitOutcome> land(Write& write) {
  Result<CommitOutcome> outcome = co_await attempt(commit(write));
  const bool unknown = !outcome && outcome.error().code == ErrorCode::unknown;
  if (unknown) co_return co_await land_again(write);
  co_return std::move(outcome);
}

Plan<CommitOutcome> land_again(Write& write) {
  for (int retry = 0;; ++retry) {
    co_await pause_before(retry);
    Result<std::optional<Item>> standing = co_await attempt(get(write.key));
    if (!standing) continue;
    if (is_ours(write, *standing)) co_return Committed{};
    if (!open_to(write.guard, *standing)) co_return Lost{0, std::move(*standing)};
    Result<CommitOutcome> outcome = co_await attempt(commit(write));
    if (!outcome) {
      // What was unknown before stays so whatever this try came to.
      if (may_pass(outcome.error().code)) continue;
      co_return std::unexpected(std::move(outcome.error()));
    }
    const auto* lost = std::get_if<Lost>(&*outcome);
    if (lost != nullptr && is_ours(write, lost->standing)) co_return Committed{};
    co_return std::move(*outcome);
  }
}

}  // namespace once

#include "primitives/commit_resolved.h"

namespace once {
namespace {

// Whether the guard still holds, so that the write may yet arrive.
bool allows(const Guard& guard, const std::optional<Item>& current) {
  if (guard.kind == Guard::Kind::absent) return !current;
  return current && current->version == guard.version;
}

bool is_ours(const Write& write, const std::optional<Item>& current) {
  return current && current->version == write.version;
}

}  // namespace

bool is_unknown(const Result<CommitOutcome>& outcome) {
  return !outcome && outcome.error().code == ErrorCode::unknown;
}

Plan<CommitOutcome> resolve_commit(std::span<Write> writes, std::size_t proof, Time until) {
  const Write& shown = writes[proof];
  for (int retry = 0;; ++retry) {
    co_await back_off(retry);
    const Time now = co_await store_now();
    if (now >= until) {
      co_return failure(ErrorCode::unknown, "out of time; an earlier write may have happened");
    }
    Result<std::optional<Item>> current = co_await attempt(get(shown.key));
    if (!current) continue;
    if (is_ours(shown, *current)) co_return Committed{};
    if (!allows(shown.guard, *current)) co_return Lost{proof, std::move(*current)};
    Result<CommitOutcome> outcome = co_await attempt(commit(writes));
    if (!outcome) {
      // An earlier try stays unknown whatever error this one meets.
      if (is_transient(outcome)) continue;
      co_return std::unexpected(std::move(outcome.error()));
    }
    const auto* lost = std::get_if<Lost>(&*outcome);
    if (lost == nullptr) co_return std::move(*outcome);
    if (lost->write == proof) {
      if (is_ours(shown, lost->current)) co_return Committed{};
      co_return std::move(*outcome);
    }
    // Another guard failed. It may have failed because the earlier try arrived since we looked.
    current = co_await attempt(get(shown.key));
    if (!current) continue;
    if (is_ours(shown, *current)) co_return Committed{};
    co_return std::move(*outcome);
  }
}

Plan<std::monostate> back_off(int retry, PauseBounds bounds) {
  const std::uint64_t drawn = co_await random_number();
  co_await pause(bounds.pause(retry, drawn));
  co_return std::monostate{};
}

Plan<CommitOutcome> commit_resolved(Write& write) {
  Result<CommitOutcome> outcome = co_await attempt(commit(write));
  if (is_unknown(outcome)) co_return co_await resolve_commit(write);
  co_return std::move(outcome);
}

Plan<CommitOutcome> resolve_commit(Write& write) {
  const std::span<Write> writes(&write, 1);
  co_return co_await resolve_commit(writes, 0, kNever);
}

Plan<CommitOutcome> commit_resolved(std::span<Write> writes, std::size_t proof, Time until) {
  const Time now = co_await store_now();
  if (now >= until) co_return failure(ErrorCode::unavailable, "out of time");
  Result<CommitOutcome> outcome = co_await attempt(commit(writes));
  if (is_unknown(outcome)) co_return co_await resolve_commit(writes, proof, until);
  co_return std::move(outcome);
}

}  // namespace once

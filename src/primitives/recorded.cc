#include "primitives/recorded.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "base/encoding.h"
#include "primitives/commit_resolved.h"
#include "primitives/document_record.h"
#include "primitives/log_group.h"

namespace once {
namespace {

constexpr std::size_t kMembers = 256;  // Of one commit of many changes.
constexpr int kSafeTries = 5;          // Of a write that may be sent twice.

bool is_atomic(const Limits& limits) {
  return limits.writes_per_commit > 2 && !limits.one_home_per_commit;
}

// The change of this item to something else: a repeat of it has the same id, and the next change of
// the same key another.
std::string id_of_change(const Write& write) {
  const auto* number = std::get_if<std::int64_t>(&write.value);
  return hex_encode(documents::hash_of_parts({write.key.partition.home, write.key.partition.part,
                                              std::to_string(write.key.sort),
                                              std::to_string(write.guard.version.number),
                                              number != nullptr ? std::to_string(*number) : ""}));
}

std::unexpected<Error> log_is_closed() {
  return failure(ErrorCode::unavailable, "the log that records such changes is closed");
}

Result<logs::PendingAppend> pending_event(const Key& key, const Recording::To& to,
                                          const Limits& limits, Time now) {
  std::vector<LogEvent> events = {{.data = to.event(key), .time = std::nullopt}};
  const AppendRequest request{.batch = "", .expect = std::nullopt, .ttl = to.keep};
  return logs::prepare_append(to.log, std::move(events), request, limits, now);
}

// Its outcome once it was performed, where the guard of its own write may have failed.
Plan<CommitOutcome> outcome_of(logs::GroupedAppend& member, Key key, Recording recording) {
  if (member.error) co_return std::unexpected(*member.error);
  if (std::holds_alternative<logs::GroupedAppend::Closed>(member.outcome)) {
    co_return log_is_closed();
  }
  if (std::holds_alternative<logs::GroupedAppend::Placed>(member.outcome)) {
    if (recording.to->recorded) recording.to->recorded();
    co_return Committed{};
  }
  std::optional<Item> current = co_await get(key);
  co_return Lost{0, std::move(current)};
}

Plan<CommitOutcome> commit_with_event(std::span<Write> writes, Recording recording) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<logs::PendingAppend> pending = pending_event(writes[0].key, *recording.to, *limits, now);
  if (!pending) co_return std::unexpected(std::move(pending.error()));
  const logs::GroupedAppend::Also also = [&writes](std::int64_t) {
    return std::vector<Write>(writes.begin(), writes.end());
  };
  logs::GroupedAppend member(*pending, recording.to->known, also);
  co_await join(member);
  co_return co_await outcome_of(member, writes[0].key, recording);
}

// A commit that may have been made is looked for, or made again if that does no harm.
Plan<CommitOutcome> commit_alone(std::span<Write> writes) {
  if (writes[0].guard.kind != Guard::Kind::anything) {
    co_return co_await commit_resolved(writes, 0, kNever);
  }
  for (int tries = 1;; ++tries) {
    Result<CommitOutcome> outcome = co_await attempt(commit(writes));
    if (outcome) co_return std::move(*outcome);
    const bool again = outcome.error().code == ErrorCode::unknown && tries < kSafeTries;
    if (!again) co_return std::unexpected(std::move(outcome.error()));
    co_await back_off(tries);
  }
}

Plan<std::monostate> number(std::span<Write> writes) {
  for (Write& write : writes) {
    if (!write.version) write.version = co_await fresh_version();
  }
  co_return std::monostate{};
}

}  // namespace

Plan<std::monostate> record(Key key, std::string id, Recording recording) {
  std::vector<LogEvent> events = {{.data = recording.to->event(key), .time = std::nullopt}};
  AppendRequest request{.batch = std::move(id), .expect = std::nullopt, .ttl = recording.to->keep};
  const logs::Stream log = recording.to->log;
  const AppendOutcome outcome =
      co_await logs::append(log, std::move(events), std::move(request), recording.to->known);
  if (std::holds_alternative<LogClosed>(outcome)) co_return log_is_closed();
  if (recording.to->recorded) recording.to->recorded();
  co_return std::monostate{};  // Under an id that is known: recorded by an earlier try.
}

Plan<CommitOutcome> commit_recorded(std::span<Write> writes, Recording recording) {
  co_await number(writes);
  const Limits* limits = co_await store_limits();
  if (!recording) co_return co_await commit_alone(writes);
  if (is_atomic(*limits)) {
    co_await logs::trim_sometimes(recording.to->log);
    co_return co_await commit_with_event(writes, recording);
  }
  const Key key = writes[0].key;
  std::string id = id_of_change(writes[0]);
  co_await record(key, std::move(id), recording);
  co_return co_await commit_alone(writes);
}

Plan<CommitOutcome> commit_recorded(Write& write, Recording recording) {
  const std::span<Write> writes(&write, 1);
  co_return co_await commit_recorded(writes, recording);
}

Plan<std::vector<Result<CommitOutcome>>> commit_each_recorded(std::span<Write> writes,
                                                              Recording recording) {
  co_await number(writes);
  const Limits* limits = co_await store_limits();
  std::vector<Result<CommitOutcome>> outcomes;
  if (recording && is_atomic(*limits)) {
    co_await logs::trim_sometimes(recording.to->log);
    for (std::size_t at = 0; at < writes.size(); at += kMembers) {
      const std::span<Write> some = writes.subspan(at, std::min(kMembers, writes.size() - at));
      const Time now = co_await store_now();
      std::deque<logs::PendingAppend> appends;
      std::deque<logs::GroupedAppend> members;
      std::vector<logs::GroupedAppend*> group;
      for (Write& write : some) {
        Result<logs::PendingAppend> pending = pending_event(write.key, *recording.to, *limits, now);
        if (!pending) co_return std::unexpected(std::move(pending.error()));
        appends.push_back(std::move(*pending));
        group.push_back(
            &members.emplace_back(appends.back(), recording.to->known,
                                  [&write](std::int64_t) { return std::vector<Write>{write}; }));
      }
      co_await logs::append_together(std::move(group));
      for (std::size_t i = 0; i < some.size(); ++i) {
        Result<CommitOutcome> outcome =
            co_await attempt(outcome_of(members[i], some[i].key, recording));
        outcomes.push_back(std::move(outcome));
      }
    }
    co_return std::move(outcomes);
  }
  for (const Write& write : writes) {
    if (!recording) break;
    std::string id = id_of_change(write);
    co_await record(write.key, std::move(id), recording);
  }
  for (std::size_t at = 0; at < writes.size(); at += limits->commits_per_group) {
    const std::size_t end = std::min(writes.size(), at + limits->commits_per_group);
    std::vector<std::span<Write>> each;
    for (std::size_t i = at; i < end; ++i) each.emplace_back(&writes[i], 1);
    std::vector<Result<CommitOutcome>> some = co_await commit_each(each);
    std::ranges::move(some, std::back_inserter(outcomes));
  }
  co_return std::move(outcomes);
}

}  // namespace once

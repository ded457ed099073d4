#include "primitives/log_group.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "primitives/commit_resolved.h"
#include "primitives/log_layout.h"

namespace once::logs {
namespace {

constexpr Duration kLongestSpread = std::chrono::seconds(1);
constexpr int kMostSpread = 8;  // Times what a try takes.

// True if the request itself was wrong: one member may have caused it for all.
bool is_at_fault(const Error& error) {
  return error.code == ErrorCode::invalid || error.code == ErrorCode::too_large ||
         error.code == ErrorCode::unsupported;
}

// The members that have no answer yet.
class Group {
 public:
  explicit Group(std::vector<GroupedAppend*> members) : all_(members), left_(std::move(members)) {}

  bool empty() const { return left_.empty(); }
  bool alone() const { return left_.size() == 1; }
  const std::vector<GroupedAppend*>& left() const { return left_; }
  const PendingAppend& any() const { return left_.front()->append; }
  const Stream& stream() const { return any().stream; }

  KnownEnds* known() const {
    for (const GroupedAppend* member : left_) {
      if (member->known != nullptr) return member->known;
    }
    return nullptr;
  }

  Time until() const {
    Time first = kNever;
    for (const GroupedAppend* member : left_) first = std::min(first, member->append.until);
    return first;
  }

  void answer(GroupedAppend& member, GroupedAppend::Outcome outcome) {
    member.outcome = std::move(outcome);
    std::erase(left_, &member);
  }

  void answer_all(const GroupedAppend::Outcome& outcome) {
    for (GroupedAppend* member : std::exchange(left_, {})) member->outcome = outcome;
  }

  // False if the log of that name is another one than it was.
  bool live_in(std::int64_t life) {
    const bool same = left_.empty() || stream().life == life;
    for (GroupedAppend* member : left_) member->append.stream.life = life;
    return same;
  }

  void fail(GroupedAppend& member, const Error& error) {
    member.error = error;
    std::erase(left_, &member);
  }

  void fail_all(const Error& error) {
    for (GroupedAppend* member : std::exchange(left_, {})) member->error = error;
  }

  void drop_late(Time now) {
    const std::vector<GroupedAppend*> members = left_;
    for (GroupedAppend* member : members) {
      if (member->append.until > now) continue;
      fail(*member, {ErrorCode::unavailable, "out of time; others were always faster"});
    }
  }

  // A commit was sent whose outcome is not known.
  void sent() { pending_ = true; }

  // The index that it was sent for is taken, by it or by another.
  void settled() { pending_ = false; }

  bool pending() const { return pending_; }

  // What was sent may still be written, with the batches of members that have another answer by
  // now. A batch id that is in use keeps it from that.
  void finish() {
    if (!pending_) return;
    for (GroupedAppend* member : all_) {
      const bool certain =
          !member->error && (std::holds_alternative<GroupedAppend::KnownId>(member->outcome) ||
                             std::holds_alternative<GroupedAppend::Placed>(member->outcome));
      if (certain) continue;
      member->error = {ErrorCode::unknown, "a reply was lost; the append may have been made"};
    }
  }

 private:
  const std::vector<GroupedAppend*> all_;
  std::vector<GroupedAppend*> left_;
  bool pending_ = false;
};

// The plans below take the group by reference: it lives in the frame of the plan that awaits them.

// The end of the log, read from the store.
Plan<FirstPosition> look_up_end(const Group& group) {
  const AppendPosition found = co_await next_position(group.any());
  co_return FirstPosition{found, true};
}

// After the first loss the winner's record tells where to go on. Later ones wait for a random while
// that grows with the losses and with what a try takes, so that appenders of many processes spread
// out, and look for the end.
class Race {
 public:
  Plan<FirstPosition> after_loss(const Group& group, std::int64_t at, Lost lost, Duration took) {
    ++losses_;
    const bool by_winner =
        group.stream().strategy == LogStrategy::conditional && lost.write == 0 && lost.current;
    if (losses_ == 1 && by_winner) {
      const Result<LogRecord> winner = decode_log(lost.current->value);
      if (!winner) co_return std::unexpected(winner.error());
      const bool closed = winner->state == LogRecord::State::closed;
      if (!closed) co_return FirstPosition{{at + winner->count, {}, group.stream().life}, false};
    }
    const std::uint64_t drawn = co_await random_number();
    const Duration longest =
        std::min(kLongestSpread, std::min(losses_, kMostSpread) * std::max(took, Duration(1)));
    const std::int64_t most = losses_ > 1 ? longest.count() : 0;
    const auto choices = static_cast<std::uint64_t>(most) + 1;
    if (most > 0) co_await pause(Duration(static_cast<std::int64_t>(drawn % choices)));
    co_return co_await look_up_end(group);
  }

 private:
  int losses_ = 0;
};

// The members that have a batch id, and where those are.
struct NamedMembers {
  explicit NamedMembers(const Group& group) {
    for (GroupedAppend* member : group.left()) {
      if (member->append.batch.empty()) continue;
      members.push_back(member);
      keys.push_back(batch_id_key(member->append.stream, member->append.batch));
    }
  }

  // Those whose id is in use leave the group. `items` are those at `keys`.
  void drop_known(Group& group, std::vector<std::optional<Item>> items) const {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (items[i]) group.answer(*members[i], GroupedAppend::KnownId{std::move(items[i])});
    }
  }

  std::vector<GroupedAppend*> members;
  std::vector<Key> keys;
};

// The guard of a member's own write failed: it leaves the group, and all who share the write. If it
// was a batch id, so do all others whose id is in use, to spare each of them a try.
Plan<std::monostate> drop_losers(Group& group, const Layout& layout, Lost lost) {
  const Layout::Place* place = layout.owner_of(lost.write);
  if (place == nullptr) co_return std::monostate{};  // The head; the caller looks for the end.
  if (!layout.is_id(lost.write)) {
    for (GroupedAppend* member : layout.owners_of(lost.write)) {
      group.answer(*member, GroupedAppend::Overtaken{});
    }
    co_return std::monostate{};
  }
  group.answer(*place->member, GroupedAppend::KnownId{std::move(lost.current)});
  const NamedMembers named(group);
  const Limits* limits = co_await store_limits();
  if (named.keys.empty() || named.keys.size() > limits->keys_per_get) co_return std::monostate{};
  const std::span<const Key> wanted = named.keys;
  Result<std::vector<std::optional<Item>>> items = co_await attempt(get(wanted));
  if (items) named.drop_known(group, std::move(*items));
  co_return std::monostate{};
}

Plan<std::monostate> append_each(std::vector<GroupedAppend*> members) {
  for (GroupedAppend* member : members) {
    std::vector<GroupedAppend*> alone = {member};
    co_await append_together(std::move(alone));
  }
  co_return std::monostate{};
}

void answer_placed(Group& group, const Layout& layout, const Committed& committed) {
  for (const Layout::Place& place : layout.placed()) {
    group.answer(*place.member,
                 GroupedAppend::Placed{place.first, false, layout.numbers_of(place, committed)});
  }
}

// What these expect is not true at the end of the log.
void refuse_unexpected(Group& group, const Layout& layout) {
  for (GroupedAppend* member : layout.unexpected()) {
    group.answer(*member, GroupedAppend::Unexpected{layout.end()});
  }
}

// One try at one commit for all. Leaves in the group what is to be tried again, at `at`.
Plan<FirstPosition> try_whole(Group& group, FirstPosition at, Race& race) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Layout layout(group.left(), at.position, now, *limits, limits->writes_per_commit);
  if (!layout.unexpected().empty() && !at.looked_up) co_return co_await look_up_end(group);
  if (layout.placed().empty()) {
    refuse_unexpected(group, layout);
    co_return at;
  }
  std::vector<Write> writes = layout.writes();
  Result<CommitOutcome> outcome = co_await attempt(once::commit(writes));
  if (is_unknown(outcome)) {
    group.sent();
    outcome = co_await attempt(resolve_commit(writes, 0, group.until()));
  }
  if (!outcome) {
    if (is_at_fault(outcome.error()) && !group.alone() && !group.pending()) {
      std::vector<GroupedAppend*> members = group.left();
      for (GroupedAppend* member : members) group.answer(*member, GroupedAppend::Overtaken{});
      co_await append_each(std::move(members));
    } else {
      group.fail_all(outcome.error());
    }
    co_return at;
  }
  if (const auto* made = std::get_if<Committed>(&*outcome)) {
    group.settled();
    if (KnownEnds* known = group.known()) known->learn(group.stream(), layout.end(), now);
    answer_placed(group, layout, *made);
    refuse_unexpected(group, layout);
    co_return FirstPosition{{layout.end(), {}, at.position.life}, false};
  }
  Lost lost = std::get<Lost>(std::move(*outcome));
  if (lost.write == 0) group.settled();
  if (layout.owner_of(lost.write) == nullptr) {
    const Time tried = co_await store_now();
    co_return co_await race.after_loss(group, at.position.first, std::move(lost), tried - now);
  }
  co_await drop_losers(group, layout, std::move(lost));
  co_return at;
}

Plan<std::monostate> append_whole(Group& group) {
  FirstPosition at = co_await first_position(group.any(), group.known());
  Race race;
  for (;;) {
    const Time now = co_await store_now();
    group.drop_late(now);
    (void)group.live_in(at.position.life);
    if (at.position.closed) group.answer_all(GroupedAppend::Closed{});
    if (group.empty()) co_return std::monostate{};
    at = co_await try_whole(group, at, race);
  }
}

// --- Where one write is all there is (docs/hazards.md#h5) ---

// The batch ids that the group has written, each pointing to where the record is to be.
using WrittenIds = std::map<const GroupedAppend*, Version>;

// Members whose id is in use go on alone, where it says. False, and nothing happens, if that would
// be by an end that is only believed: the ids may be those of a log that was removed.
Plan<bool> drop_known(Group& group, bool is_believed) {
  const NamedMembers named(group);
  if (named.keys.empty()) co_return true;
  const std::span<const Key> wanted = named.keys;
  std::vector<std::optional<Item>> items = co_await get(wanted);
  const bool is_any = std::ranges::any_of(items, [](const auto& item) { return item.has_value(); });
  if (is_any && is_believed) co_return false;
  named.drop_known(group, std::move(items));
  co_return true;
}

// Points the id of each placed member to the record at `at`. Those whose id another has written
// leave the group.
Plan<std::monostate> write_ids(Group& group, const Layout& layout, std::int64_t at,
                               WrittenIds& ids) {
  std::vector<GroupedAppend*> named;
  std::vector<Write> writes;
  const bool alone = layout.placed().size() == 1;
  for (const Layout::Place& place : layout.placed()) {
    const PendingAppend& append = place.member->append;
    if (append.batch.empty()) continue;
    const auto written = ids.find(place.member);
    const Guard guard = written == ids.end() ? absent_lasting() : unchanged(written->second);
    named.push_back(place.member);
    const auto offset = alone ? std::optional<std::int64_t>(0) : std::nullopt;
    writes.push_back(append.id_at(at, offset, guard));
  }
  std::vector<std::span<Write>> each;
  for (Write& write : writes) each.emplace_back(&write, 1);
  if (each.empty()) co_return std::monostate{};
  const std::span<const std::span<Write>> transactions = each;
  std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(transactions);
  for (std::size_t i = 0; i < named.size(); ++i) {
    Result<CommitOutcome>& outcome = outcomes[i];
    if (is_unknown(outcome)) {
      outcome = co_await attempt(resolve_commit(each[i], 0, named[i]->append.until));
    }
    if (!outcome) {
      group.fail(*named[i], outcome.error());
    } else if (auto* lost = std::get_if<Lost>(&*outcome)) {
      group.answer(*named[i], GroupedAppend::KnownId{std::move(lost->current)});
    } else {
      ids[named[i]] = writes[i].version;
    }
  }
  co_return std::monostate{};
}

// The members of the layout that are still in the group.
std::vector<GroupedAppend*> still_there(const Group& group, const Layout& layout) {
  std::vector<GroupedAppend*> members;
  for (const Layout::Place& place : layout.placed()) {
    if (std::ranges::count(group.left(), place.member) > 0) members.push_back(place.member);
  }
  return members;
}

// Another record is where ours was to be. It may have a member's batch in it: written by a repeat
// that found the id.
Result<void> answer_those_in(Group& group, const Lost& lost, std::int64_t at) {
  if (!lost.current) return failure(ErrorCode::corrupt, "a log's record is gone");
  const Result<LogRecord> winner = decode_log(lost.current->value);
  if (!winner) return std::unexpected(winner.error());
  const std::vector<GroupedAppend*> members = group.left();
  for (GroupedAppend* member : members) {
    if (member->append.batch.empty()) continue;
    const std::optional<std::int64_t> offset = winner->offset_of(member->append.batch);
    if (offset) group.answer(*member, GroupedAppend::Placed{at + *offset, true, {}});
  }
  return {};
}

Plan<FirstPosition> try_in_steps(Group& group, FirstPosition at, Race& race, WrittenIds& ids) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  const std::int64_t first = at.position.first;
  const Layout wanted(group.left(), at.position, now, *limits, 1);
  if (!wanted.unexpected().empty() && !at.looked_up) co_return co_await look_up_end(group);
  if (wanted.placed().empty()) {
    refuse_unexpected(group, wanted);
    co_return at;
  }
  for (GroupedAppend* member : wanted.rest()) group.answer(*member, GroupedAppend::Overtaken{});
  co_await write_ids(group, wanted, first, ids);
  const std::vector<GroupedAppend*> ready = still_there(group, wanted);
  if (ready.empty()) co_return at;
  const Layout layout(ready, at.position, now, *limits, 1);
  // Without those that left, another's expectation may not hold any more.
  if (layout.placed().size() < ready.size()) co_return at;
  std::vector<Write> writes = layout.records();
  Result<CommitOutcome> outcome = co_await attempt(commit_resolved(writes, 0, group.until()));
  if (!outcome) {
    group.fail_all(outcome.error());
    co_return at;
  }
  if (committed(*outcome)) {
    if (KnownEnds* known = group.known()) known->learn(group.stream(), layout.end(), now);
    answer_placed(group, layout, {});
    refuse_unexpected(group, wanted);
    co_return at;
  }
  Lost lost = std::get<Lost>(std::move(*outcome));
  const Result<void> found = answer_those_in(group, lost, first);
  if (!found) co_return std::unexpected(found.error());
  if (group.empty()) co_return at;
  const Time tried = co_await store_now();
  co_return co_await race.after_loss(group, first, std::move(lost), tried - now);
}

Plan<std::monostate> append_by_one_write(Group& group) {
  FirstPosition at = co_await first_position(group.any(), group.known());
  (void)group.live_in(at.position.life);
  const bool dropped = co_await drop_known(group, !at.looked_up);
  if (!dropped) {
    at = co_await look_up_end(group);
    (void)group.live_in(at.position.life);
    (void)co_await drop_known(group, false);
  }
  Race race;
  WrittenIds ids;
  for (;;) {
    const Time now = co_await store_now();
    group.drop_late(now);
    if (!group.live_in(at.position.life)) {
      ids.clear();
      (void)co_await drop_known(group, false);
    }
    if (at.position.closed) group.answer_all(GroupedAppend::Closed{});
    if (group.empty()) co_return std::monostate{};
    at = co_await try_in_steps(group, at, race, ids);
  }
}

}  // namespace

// Members that check different things of one key are refused together, and tried one by one.
bool can_share(const Write& write) {
  if (write.kind == Write::Kind::check) return true;
  return write.guard.kind == Guard::Kind::anything &&
         (write.kind == Write::Kind::add || write.kind == Write::Kind::raise);
}

GroupedAppend::GroupedAppend(PendingAppend& pending, KnownEnds* known_ends, Also also_writes)
    : append(pending),
      known(known_ends),
      also(std::move(also_writes)),
      queue_{batch_partition(pending.stream), 0} {
  if (!append.batch.empty()) id_key_ = batch_id_key(append.stream, append.batch);
  if (!also) return;
  for (Write& write : also(1)) {
    const bool shared = can_share(write);
    others_.emplace_back(std::move(write.key), shared);
  }
}

void GroupedAppend::list_others(std::vector<Other>& others) const {
  if (id_key_) others.push_back({&*id_key_, false});
  for (const auto& [key, shared] : others_) others.push_back({&key, shared});
}

Plan<std::monostate> GroupedAppend::perform(std::vector<Joint*> members) {
  std::vector<GroupedAppend*> appends;
  appends.reserve(members.size());
  for (Joint* member : members) appends.push_back(static_cast<GroupedAppend*>(member));
  return append_together(std::move(appends));
}

Plan<std::monostate> append_together(std::vector<GroupedAppend*> members) {
  const Limits* limits = co_await store_limits();
  Group group(std::move(members));
  const bool whole = limits->writes_per_commit > 1;
  Plan<std::monostate> work = whole ? append_whole(group) : append_by_one_write(group);
  const Result<std::monostate> ended = co_await attempt(std::move(work));
  if (!ended) group.fail_all(ended.error());
  group.finish();
  co_return std::monostate{};
}

}  // namespace once::logs

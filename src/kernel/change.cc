#include "kernel/change.h"

#include <algorithm>
#include <string>

namespace once {
namespace detail {
namespace {

// Changes to one key, applied one after the other to the item that was read.
class Group {
 public:
  Group(std::vector<ChangeMember*> members, const Limits& limits)
      : members_(std::move(members)), limits_(limits) {}

  const Key& key() const { return members_.front()->change.key; }
  bool empty() const { return members_.empty(); }
  bool alone() const { return members_.size() == 1; }
  const std::vector<ChangeMember*>& members() const { return members_; }

  // Applies each change to the result of those before it. A change that fails has no effect on the
  // next.
  void apply(const std::optional<Item>& current, Version version) {
    before_ = current ? current->version : Version{};
    after_ = current;
    version_ = version;
    writers_.clear();
    answers_.clear();
    if (apply_joined()) return;
    for (ChangeMember* member : members_) {
      Result<bool> wrote = apply_one(member->change.apply);
      if (wrote && *wrote) writers_.push_back(member);
      answers_.push_back(wrote ? Result<void>() : std::unexpected(std::move(wrote.error())));
    }
  }

  bool writes_nothing() const { return writers_.empty(); }

  // The group's one commit: first the key itself, then the other writes of each change.
  std::vector<Write> writes() const {
    std::vector<Write> all = {key_write()};
    for (const ChangeMember* writer : writers_) {
      for (const Write& write : writer->change.also) {
        if (!is_there(all, write)) all.push_back(write);
      }
    }
    return all;
  }

  // Every member without an error gets the item after the whole group.
  void answer_all() {
    const auto after = std::make_shared<const std::optional<Item>>(std::move(after_));
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (answers_[i]) {
        members_[i]->give(Changed{after});
      } else {
        members_[i]->give(std::unexpected(std::move(answers_[i].error())));
      }
    }
  }

  void answer_all(const Result<ChangeOutcome>& answer) {
    for (ChangeMember* member : members_) member->give(answer);
  }

  // The guard of another write did not hold: the changes that it is of are answered and leave the
  // group. `writes` is the commit.
  void drop_losers(const std::vector<Write>& writes, const Lost& lost) {
    const Key& key = writes[lost.write].key;
    for (ChangeMember* writer : writers_) {
      const std::vector<Write>& also = writer->change.also;
      const auto found = std::ranges::find(also, key, &Write::key);
      if (found == also.end()) continue;
      writer->give(Lost{static_cast<std::size_t>(found - also.begin()), lost.current});
      std::erase(members_, writer);
    }
  }

 private:
  static bool is_there(const std::vector<Write>& all, const Write& write) {
    return write.kind == Write::Kind::check &&
           std::ranges::any_of(all, [&](const Write& one) { return is_same_check(one, write); });
  }

  // Applies all changes together. False if that is impossible or fails: applied one by one, the
  // change at fault is found.
  bool apply_joined() {
    std::vector<Joinable*> parts;
    for (const ChangeMember* member : members_) parts.push_back(member->change.part);
    if (alone() || std::ranges::count(parts, nullptr) > 0) return false;
    const Apply joint = parts.back()->joined(parts);
    const Result<bool> wrote = joint ? apply_one(joint) : failure(ErrorCode::invalid, "");
    if (!wrote) return false;
    if (*wrote) writers_ = members_;
    answers_.assign(members_.size(), {});
    return true;
  }

  // True if it writes anything.
  Result<bool> apply_one(const Apply& apply) {
    Result<Edit> edit = apply(after_);
    if (!edit) return std::unexpected(std::move(edit.error()));
    if (std::holds_alternative<Keep>(*edit)) return false;
    if (auto* replace = std::get_if<Replace>(&*edit)) {
      const Bytes* bytes = std::get_if<Bytes>(&replace->value);
      if (bytes != nullptr && bytes->size() > limits_.value_bytes) {
        return failure(ErrorCode::too_large, "value would be longer than " +
                                                 std::to_string(limits_.value_bytes) + " bytes");
      }
      after_ = Item{std::move(replace->value), version_, replace->expiry};
    } else {
      after_.reset();
    }
    return true;
  }

  Write key_write() const {
    const Guard guard = before_ ? unchanged(before_) : absent();
    if (!after_) return before_ ? erase(key(), guard) : check(key(), guard);
    Write write = put(key(), after_->value, guard, after_->expiry);
    write.version = version_;
    return write;
  }

  std::vector<ChangeMember*> members_;
  const Limits& limits_;

  Version before_;
  Version version_;
  std::optional<Item> after_;
  std::vector<ChangeMember*> writers_;  // Members whose change is in `after_`.
  std::vector<Result<void>> answers_;   // One for each member: its own error, if any.
};

// True if the request itself was wrong: one member may have caused it for all.
bool at_fault(ErrorCode code) {
  return code == ErrorCode::invalid || code == ErrorCode::too_large ||
         code == ErrorCode::unsupported;
}

Plan<std::monostate> perform_each(std::vector<ChangeMember*> members) {
  for (ChangeMember* member : members) {
    std::vector<ChangeMember*> alone = {member};
    co_await perform_changes(std::move(alone));
  }
  co_return std::monostate{};
}

}  // namespace

bool is_same_check(const Write& a, const Write& b) {
  return a.kind == Write::Kind::check && b.kind == Write::Kind::check && a.key == b.key &&
         a.guard.kind == b.guard.kind && a.guard.version == b.guard.version;
}

Plan<std::monostate> perform_changes(std::vector<ChangeMember*> members) {
  const Limits* limits = co_await store_limits();
  Group group(std::move(members), *limits);
  while (!group.empty()) {
    const Result<std::optional<Item>> current = co_await attempt(get(group.key()));
    if (!current) {
      group.answer_all(std::unexpected(current.error()));
      break;
    }
    const Version version = co_await fresh_version();
    group.apply(*current, version);
    if (group.writes_nothing()) {
      group.answer_all();
      break;
    }
    std::vector<Write> writes = group.writes();
    Result<CommitOutcome> outcome = co_await attempt(commit(writes));
    if (!outcome) {
      if (at_fault(outcome.error().code) && !group.alone()) {
        co_await perform_each(group.members());
      } else {
        group.answer_all(std::unexpected(outcome.error()));
      }
      break;
    }
    if (committed(*outcome)) {
      group.answer_all();
      break;
    }
    Lost& lost = std::get<Lost>(*outcome);
    if (lost.write == 0) {
      group.answer_all(Overtaken{});
      break;
    }
    group.drop_losers(writes, lost);
  }
  co_return std::monostate{};
}

void ChangeMember::list_others(std::vector<Other>& others) const {
  // Those that check different things of one key are refused together, and tried one by one.
  for (const Write& write : change.also) {
    others.push_back({&write.key, write.kind == Write::Kind::check});
  }
}

std::size_t ChangeMember::answered_bytes() const {
  const auto* changed = std::get_if<Changed>(&outcome);
  if (changed == nullptr || changed->item == nullptr || !changed->current()) return 0;
  const auto* bytes = std::get_if<Bytes>(&changed->current()->value);
  return bytes != nullptr ? bytes->size() : 0;
}

Plan<std::monostate> ChangeMember::perform(std::vector<Joint*> members) {
  std::vector<ChangeMember*> changes;
  changes.reserve(members.size());
  for (Joint* member : members) changes.push_back(static_cast<ChangeMember*>(member));
  return perform_changes(std::move(changes));
}

void ChangeMember::give(Result<ChangeOutcome> given) {
  if (given) {
    outcome = std::move(*given);
  } else {
    error = std::move(given.error());
  }
}

}  // namespace detail

Plan<std::monostate> join(detail::Joint& member) {
  const bool combines = co_await detail::Combines{};
  if (combines) {
    detail::StepOf<detail::JoinStep> together{{.member = &member}};
    co_return co_await std::move(together);
  }
  std::vector<detail::Joint*> alone = {&member};
  co_await member.perform(std::move(alone));
  if (member.error) co_return std::unexpected(*member.error);
  co_return std::monostate{};
}

Plan<ChangeOutcome> change(Change& wanted) {
  detail::ChangeMember member(wanted);
  co_await join(member);
  co_return std::move(member.outcome);
}

}  // namespace once

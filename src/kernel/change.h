// How changes to one key become one commit (docs/hazards.md#h18): each is answered with the group's
// final state, a change that fails affects no other, and an unknown outcome is unknown to all.
#pragma once

#include <variant>
#include <vector>

#include "once/plan.h"

namespace once::detail {

// Whether both check the same of one key: a commit needs only one of them.
bool is_same_check(const Write& a, const Write& b);

// A change that waits for its key.
class ChangeMember final : public Joint {
 public:
  // `change` must outlive it.
  explicit ChangeMember(Change& wanted) : change(wanted) {}

  const Key& queue() const override { return change.key; }
  void list_others(std::vector<Other>& others) const override;
  std::size_t writes() const override { return change.also.size(); }
  std::size_t weight() const override { return change.weight; }
  std::size_t answered_bytes() const override;
  Plan<std::monostate> perform(std::vector<Joint*> members) override;

  void give(Result<ChangeOutcome> given);

  Change& change;
  ChangeOutcome outcome;
};

// One attempt at the changes of `members`, all of one key. Reads it once, applies each change in
// turn, commits once, and fills in every member's answer. The members must stay alive, and must not
// have another key in common, except that they check it. The plan itself succeeds whatever the
// answers are.
Plan<std::monostate> perform_changes(std::vector<ChangeMember*> members);

}  // namespace once::detail

// Operations that wait under one key and can be performed together, by one plan and usually by one
// commit. A plan awaits join(); the batching driver collects what waits, and any other driver
// performs each operation alone.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "once/error.h"
#include "once/key.h"

namespace once {

template <class T>
class Plan;

namespace detail {

// One operation that waits. It lives in the frame of the plan that awaits it.
class Joint {
 public:
  Joint() = default;
  virtual ~Joint() = default;
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;

  // A key that the operation writes besides those of the group as a whole. A group has no key
  // twice, unless all who write it there share it.
  struct Other {
    const Key* key = nullptr;
    bool shared = false;
  };

  // Operations under equal keys become one group. They must be of one class.
  virtual const Key& queue() const = 0;
  virtual void list_others(std::vector<Other>& others) const = 0;
  virtual std::size_t writes() const = 0;  // That it adds to the group's commit.
  virtual std::size_t bytes() const { return 0; }

  // About how many bytes it goes through besides what the group reads.
  virtual std::size_t weight() const { return 0; }

  // About how many bytes its answer has.
  virtual std::size_t answered_bytes() const { return 0; }

  // Performs `members`, of which this is the first, and gives each its answer. Every member stays
  // alive until the plan has ended. The plan itself succeeds.
  virtual Plan<std::monostate> perform(std::vector<Joint*> members) = 0;

  // Why this operation failed, once it was performed. Any other answer is the class's own.
  std::optional<Error> error;
};

// What a group takes into one commit at most. A larger operation is a group of its own.
inline constexpr std::size_t kGroupBytes = 1U << 20;

}  // namespace detail

// Performs `member`, perhaps together with others. Fails with its error.
Plan<std::monostate> join(detail::Joint& member);

}  // namespace once

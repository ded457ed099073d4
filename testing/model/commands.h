// Random commands. Each makes sense in every state, so that RapidCheck can drop any of them when it
// looks for a shorter failure.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "once/store.h"

namespace once::testing {

enum class GuardChoice : std::uint8_t { anything, absent, current, seen_earlier, permanent };
enum class ExpiryChoice : std::uint8_t { never, past, soon, later };

struct WriteChoice {
  Write::Kind kind = Write::Kind::put;
  std::size_t key = 0;
  GuardChoice guard = GuardChoice::anything;
  std::size_t earlier = 0;  // Index of a version that was seen earlier.
  std::size_t value = 0;
  ExpiryChoice expiry = ExpiryChoice::never;
};
using TransactionChoice = std::vector<WriteChoice>;

struct Command {
  enum class Kind : std::uint8_t { commit, commit_each, scan, list, sweep, pass };

  Kind kind = Kind::commit;
  std::vector<TransactionChoice> transactions;  // commit: the first.
  std::size_t at = 0;                           // A partition or a prefix.
  std::size_t first = 0, last = 0;              // Bounds of a scan.
  Direction direction = Direction::ascending;
  std::size_t limit = 1;
  std::size_t amount = 0;  // Bytes of a scan, milliseconds to pass.
};

const std::vector<Key>& model_keys();
const std::vector<Value>& model_values();
const std::vector<std::int64_t>& model_bounds();

rc::Gen<std::vector<Command>> any_commands();

std::ostream& operator<<(std::ostream& out, const Command& command);

}  // namespace once::testing

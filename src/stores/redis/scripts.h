// What the server runs for us, by digest.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace once::redis {

struct Script {
  std::string_view text;
  std::string digest;  // As the server names it.
};

// A commit. KEYS has one for each write. ARGV: our time in milliseconds; then for each write
//   its kind (p put, a add, r raise, e erase, c check), its guard (* anything, a absent,
//   u unchanged), the version of the guard (8 bytes), the sort (16 digits), all in one; and
//   the record to be written (add and raise: of the operand), or nothing.
// Answers {0, time, number...} with 8 bytes, or none, for each write if some are arithmetic;
// {1, time, write, record or nil} if a guard was lost; {2, time, write} if it holds bytes;
// {3, time, write} on overflow; {4, time, write} if it is corrupt. But for 0, nothing was written:
// all is checked before the first write, because the server undoes nothing (docs/hazards.md#h27).
const Script& commit_script();

// The items of one partition. KEYS: its string, its set. ARGV: our time, the first and last sort
// (digits), at most so many items, and bytes, "up" or "down".
// Answers {whether there may be more, time, member...}.
const Script& scan_script();

// Removes expired members. KEYS: a set. ARGV: our time, digits to begin after (or nothing), how
// many to examine. Answers {examined, removed, the last one's digits, or nothing at the end}.
const Script& sweep_script();

std::array<const Script*, 3> all_scripts();

}  // namespace once::redis

// What `once run` stores of a command that ended, and prints of one that ended before.
#pragma once

#include <string>

#include "api/message.h"
#include "cli/command_process.h"

namespace once::cli {

inline constexpr int kCannotStart = 127;  // As shells say it.

// {"exit":0,"stdout":"...","stderr":"..."}, with at most so many bytes of each output. Base64 in
// place of what is not UTF-8 or shorter so, and what was cut is marked: never more than 3/2 of its
// output, and a little.
std::string outcome_json(const Finished& finished, std::size_t most = Captured::kMost);

// Prints the stored output of the claim's record, and on stderr when it ran and how long it is
// replayed. The stored exit code.
int print_outcome(const std::string& key, const api::Response& record);

}  // namespace once::cli

// What `once run` stores of a command that ended, and prints of one that ended before.
#pragma once

#include <string>

#include "process/process.h"
#include "wire/json.h"
#include "wire/message.h"

namespace once::cli {

inline constexpr int kCannotStart = 127;  // As shells say it.

// {"exit":0,"stdout":"...","stderr":"..."}, of a command whose outputs are these two, with at
// most so many bytes of each. Base64 in
// place of what is not UTF-8 or shorter so, and what was cut is marked: never more than 3/2 of its
// output, and a little.
std::string outcome_json(const process::Finished& finished,
                         std::size_t most = process::Keep::kUsual);

// Prints the stored output of the claim's record, and on stderr when it ran and how long it is
// replayed. The stored exit code.
int print_outcome(const std::string& key, const api::Response& record);

// The record of a claim with the members of such an outcome, its outputs as text, in place of its
// result or failure. Other records as they are.
std::string readable_record(api::Json record);

}  // namespace once::cli

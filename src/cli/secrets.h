// Tokens and passwords on their way into a command: not where other users of the machine can see
// them.
#pragma once

#include <span>
#include <string>

#include "once/error.h"

namespace once::cli {

// Overwrites the value of --token, and passwords in addresses, up to `--`: every user of a machine
// can read the arguments of a process. The words must have been copied before.
void hide_secrets(std::span<char*> arguments);

// The first line of the file. `invalid` if it cannot be read, or holds no token.
Result<std::string> token_in(const std::string& file);

}  // namespace once::cli

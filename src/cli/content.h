// Bytes that a command is given: as a word, in a file, or on standard input.
#pragma once

#include <cstddef>
#include <string>

#include "cli/invocation.h"
#include "once/error.h"

namespace once::cli {

// The word at `index`, or else what --file names, or else standard input. `invalid`: a word and a
// file, or a file that cannot be read.
Result<std::string> content_of(const Invocation& invocation, std::size_t index);

// What these bytes look like: application/json, text/plain, or application/octet-stream.
std::string guessed_type(const std::string& content);

}  // namespace once::cli

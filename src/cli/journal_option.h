// --log, for the commands that serve.
#pragma once

#include "cli/invocation.h"
#include "server/journal.h"

namespace once::cli {

// To standard error. Without the option, what is at least a warning, as text.
Result<server::JournalOptions> journal_of(const Invocation& invocation);

}  // namespace once::cli

// Changes to JSON documents: merge patches (RFC 7396) and JSON patches (RFC 6902).
//
// Members of a patched object are sorted by name: a container that keeps their order would take
// time quadratic in their number.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "once/error.h"

namespace once::api {

// Returns the patched document on one line. Has no side effects. `invalid`: the patch does not
// apply to this document, which may not even be JSON; `too_large`: it would take too much work.
using Patch = std::function<Result<std::string>(std::string_view document)>;

// `invalid` if the text is no such patch, `too_large` if it has too many operations.
Result<Patch> merge_patch(std::string_view text);
Result<Patch> json_patch(std::string_view text);

}  // namespace once::api

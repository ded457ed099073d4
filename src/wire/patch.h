// Changes to JSON documents: merge patches (RFC 7396) and JSON patches (RFC 6902).
//
// Members of a patched object are sorted by name: a container that keeps their order would take
// time quadratic in their number.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "once/effects.h"
#include "once/error.h"

namespace once::wire {

// Returns the patched document on one line. Has no side effects. `invalid`: the patch does not
// apply to this document, which may not even be JSON; `too_large`: it would take too much work.
struct Patch {
  std::function<Result<std::string>(std::string_view document)> apply;

  // About how many bytes it may go through besides its own and the document's: a few operations
  // that copy make much of little.
  std::size_t weight = 0;

  Result<std::string> operator()(std::string_view document) const { return apply(document); }
};

// `invalid` if the text is no such patch, `too_large` if it has too many operations.
Result<Patch> merge_patch(std::string_view text);
Result<Patch> json_patch(std::string_view text);

// For effects. The text, which is JSON, is parsed when the patch is applied: parsing it now would
// end the life of the request that it was taken from (base/json.h).
MergePatch parsed_later(Bytes json);

}  // namespace once::wire

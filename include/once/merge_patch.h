// Merge patches (RFC 7396) for Effects::patch. In component `wire`, which `open` and `remote` use.
#pragma once

#include <string_view>

#include "once/effects.h"

namespace once {

// `invalid` if the text is not JSON.
Result<MergePatch> merge_patch(std::string_view json);

}  // namespace once

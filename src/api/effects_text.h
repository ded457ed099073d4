// Effects as JSON: what a commit is to do, whoever asks for it.
#pragma once

#include <string_view>

#include "api/data_form.h"
#include "api/json.h"
#include "once/effects.h"

namespace once::api {

// The fields logs, docs and tallies, as POST /v1/commit has them.
void take_effects(Fields& fields, Effects& effects, DataForm form);

// An object of those and of `result`, all of them optional: what a handler returns.
Result<Effects> effects_of(std::string_view json);

}  // namespace once::api

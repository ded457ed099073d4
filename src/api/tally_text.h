// Tallies, as they come in and as they go out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/data_form.h"
#include "api/json.h"
#include "api/problem.h"
#include "once/tallies.h"

namespace once::api {

// {"kind", what the kind takes, "id", "at", "window", "ttl"}, all but the kind and its own
// optional.
TallyRequest take_tally(Fields& fields, DataForm form);

std::string_view name_of(TallyKind kind);

// {"kind","value"}, with the window if there is one. A value that is not known is left out. That of
// a bloom filter is null, because it answers for an item only; in exact form it is its state.
std::string tally_json(TallyKind kind, TallyWindow window, const std::optional<TallyValue>& value,
                       DataForm form);

// What was merged: as above, except that a bloom filter has what was merged.
std::string merged_json(const TallyRequest& request, const std::optional<TallyValue>& value,
                        DataForm form);

// Nothing was merged, because the tally is of another kind or window.
Problem other_tally(const OtherTally& other);

}  // namespace once::api

// Items of a store as JSON: what `once export` writes and `once import` reads. Versions are part of
// it, so that ETags and tickets stay good; fences are, as part of the values.
//
//   {"home":"claim/default/a","part":"","sort":0,"version":"00c0ffee00000001","bytes":"Y2FmZQ",
//    "check":305419896}
//   {"home":"tally/default/b","part":"","sort":0,"version":"00c0ffee00000002","number":5,
//    "expiry":1767225600000,"check":2596069104}
//
// `expiry` is in milliseconds since 1970, and absent if there is none; `bytes` is base64url without
// padding. A home or part that is not UTF-8 is base64url in `home64` or `part64`. `check` is the
// checksum that a store keeps with an item (docs/formats.md): it covers all the rest.
#pragma once

#include <cstdint>
#include <string>

#include "api/json.h"
#include "once/store.h"

namespace once::api {

using Listed = ListPage::Listed;

std::string item_text(const Listed& listed);

// What is wrong with it, damage included, is wrong with the fields.
Listed take_item(Fields& fields);

}  // namespace once::api

// Items of a store as JSON: what `once export` writes and `once import` reads. They keep their
// versions, so that ETags and tickets stay valid, and fences, which are part of the values.
//
//   {"home":"claim/default/a","part":"","sort":0,"version":"00c0ffee00000001","bytes":"Y2FmZQ",
//    "check":305419896}
//   {"home":"tally/default/b","part":"","sort":0,"version":"00c0ffee00000002","number":5,
//    "expiry":1767225600000,"check":2596069104}
//
// `expiry` is in milliseconds since 1970, and absent if it never expires; `bytes` is base64url
// without padding. A home or part that is not UTF-8 is base64url in `home64` or `part64`. `check`
// is the checksum that a store keeps with an item (docs/formats.md): it covers all the rest.
#pragma once

#include <cstdint>
#include <string>

#include "once/store.h"
#include "wire/json.h"

namespace once::wire {

using Listed = ListPage::Listed;

std::string item_json(const Listed& listed);

// A fault of the item, damage included, is a fault of the fields.
Listed take_item(Fields& fields);

}  // namespace once::wire

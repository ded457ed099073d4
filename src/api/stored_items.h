// What may be stored under a key, for an import: the record of each key is decoded by its kind, so
// that nothing comes in which a program would not have written itself.
#pragma once

#include "wire/items.h"

namespace once::api {

// `invalid` if the key is none that Once writes, or the item does not decode as what the key is
// for.
Result<void> check_stored(const wire::Listed& listed);

// The item as this version stores it: earlier ones kept the marks of seen ids where claims are.
wire::Listed in_today_form(wire::Listed checked);

bool is_token(const wire::Listed& listed);

// The mark that the store had a token.
bool is_closed_mark(std::string_view home);

}  // namespace once::api

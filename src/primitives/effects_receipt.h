// What a commit of effects leaves behind to be known again by: in the claim that it completed, and
// under its id.
#pragma once

#include <cstdint>
#include <vector>

#include "once/item.h"
#include "once/log.h"

namespace once::effects {

struct Receipt {
  Bytes hash;              // Of everything that was asked for.
  std::uint64_t call = 0;  // Tells the call that made it from one that repeats it.
  Version version;         // Of the documents it put.
  std::vector<Appended> appended;
};

Bytes encode(const Receipt& receipt);
Result<Receipt> decode_receipt(const Value& value);

}  // namespace once::effects

// Proof of a commit of effects, stored with the claim that it completed and under its id.
#pragma once

#include <cstdint>
#include <vector>

#include "once/item.h"
#include "once/log.h"

namespace once::effects {

struct Receipt {
  Bytes hash;              // Of the whole request.
  std::uint64_t call = 0;  // Tells the call that made the commit from a repeat.
  Version version;         // Of the documents that it put.
  std::vector<Appended> appended;
};

Bytes encode(const Receipt& receipt);
Result<Receipt> decode_receipt(const Value& value);

}  // namespace once::effects

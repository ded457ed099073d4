// The secret of a store, which its tickets are sealed with. It is outside all namespaces and no
// part of an export.
#pragma once

#include "once/plan.h"

namespace once {

// Reads the secret, makes it if there is none, and remembers it for store_secret(). One read, and
// one write in the life of a store: all processes get the secret of the first.
//
// A damaged one is replaced: the tickets that it sealed are worth nothing then.
Plan<const StoreSecret*> read_store_secret();

Bytes encode(const StoreSecret& secret);
Result<StoreSecret> decode_secret(const Value& value);

}  // namespace once

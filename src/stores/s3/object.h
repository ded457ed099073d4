// What is in an object: the key it belongs to, and an item or the mark of one that was erased.
//
//   ┌──────────┬─────────┬──────────────┬─────────────┬──────────────────────────────┐
//   │ "ONCE" 4 │ kind  1 │ key length 4 │ encoded key │ encoded item (kernel/format) │
//   └──────────┴─────────┴──────────────┴─────────────┴──────────────────────────────┘
//
// Kind is 'I' or 'T', numbers have their high byte first. An ETag is a hash of these bytes, or
// stands for them: since no version is used twice, no two writes have the same (H24). A tombstone
// is an item whose number is the time of the erasure, under a version of its own.
#pragma once

#include <string>
#include <string_view>

#include "once/error.h"
#include "once/item.h"
#include "once/key.h"

namespace once::s3 {

struct Object {
  Key key;
  Item item;
  bool tombstone = false;
};

inline bool lives(const Object& object, Time now) {
  return !object.tombstone && !expired(object.item, now);
}

std::string item_object(const Key& key, const Item& item);
std::string tombstone_object(const Key& key, Version version, Time now);

// `corrupt` for what neither of them made.
Result<Object> read_object(std::string_view body);

}  // namespace once::s3

// What is in an object: the key it belongs to, and an item or the mark of one that was erased.
//
//   ┌──────────┬────────┬──────────────┬─────────────┬─────────┬──────────┬──────────────────────┐
//   │ "ONCE" 4 │ kind 1 │ key length 4 │ encoded key │ count 1 │ before 8 │ encoded item         │
//   │          │        │              │             │         │ each     │ (kernel/format)      │
//   └──────────┴────────┴──────────────┴─────────────┴─────────┴──────────┴──────────────────────┘
//
// Kind is 'I' or 'T', numbers have their high byte first, and the item's checksum covers all that
// stands before it. An ETag is a hash of these bytes, or stands for them: since no version is used
// twice, no two writes have the same (docs/hazards.md#h24). A tombstone is an item whose number is
// the time of the erasure, under a version of its own.
//
// `before` are the versions that this one replaced, newest first, as far as they are known. A write
// whose reply was lost looks for itself there: the one that replaced the version which it was to
// replace is it, or is the proof that it never will (docs/hazards.md#h7).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/item.h"
#include "once/key.h"

namespace once::s3 {

inline constexpr std::size_t kMaxBefore = 16;

struct Object {
  Key key;
  Item item;
  std::vector<Version> before;
  bool tombstone = false;
};

// What an object that replaces one of `version` has before it.
std::vector<Version> after(Version version, const std::vector<Version>& before);

inline bool lives(const Object& object, Time now) {
  return !object.tombstone && !expired(object.item, now);
}

std::string object_bytes(const Object& object);

Object tombstone(Key key, Version version, Time now);

// `corrupt` for what object_bytes() never made.
Result<Object> read_object(std::string_view body);

}  // namespace once::s3

// Where an item lives. A partition is a home and an optional part; its items are ordered by
// `sort`. Stores that place data by name place it by home, so what must be written in one
// commit on every store shares a home.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace once {

struct Partition {
  std::string home;  // 1 byte or more; any bytes.
  std::string part;  // Any bytes; often empty.

  friend bool operator==(const Partition&, const Partition&) = default;
  friend std::strong_ordering operator<=>(const Partition&, const Partition&) = default;
};

struct Key {
  Partition partition;
  std::int64_t sort = 0;  // Never negative.

  friend bool operator==(const Key&, const Key&) = default;
  friend std::strong_ordering operator<=>(const Key&, const Key&) = default;
};

// For messages: the names as they are where printable, other bytes as \xNN.
std::string to_text(const Key& key);

}  // namespace once

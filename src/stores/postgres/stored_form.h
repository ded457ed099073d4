// Items as columns of rows.
#pragma once

#include <optional>

#include "once/item.h"
#include "once/key.h"
#include "stores/postgres/connection.h"

namespace once::postgres {

inline std::int64_t stored(Version version) { return static_cast<std::int64_t>(version.number); }
inline std::int64_t stored(Time time) { return time.time_since_epoch().count(); }

// From `column` on: number, bytes, version, expiry. Nothing if they are not an item.
std::optional<Item> item_in(const Rows& rows, std::size_t row, std::size_t column);

// The server's time, which is in `column` of the first row of every answer.
std::optional<Time> time_in(const Rows& rows, std::size_t column);

// Keys as three parameters.
class KeyArrays {
 public:
  void add(const Key& key);
  void add_to(Statement& statement) &&;

 private:
  ArrayParameter homes_ = ArrayParameter::of_bytes();
  ArrayParameter parts_ = ArrayParameter::of_bytes();
  ArrayParameter sorts_ = ArrayParameter::of_numbers();
};

// "select * from "SCHEMA".NAME($1, …)".
std::string call_of(const std::string& schema, std::string_view name, int parameters);

}  // namespace once::postgres

#include "stores/postgres/stored_form.h"

#include <utility>

#include "stores/postgres/schema_sql.h"

namespace once::postgres {

std::optional<Item> item_in(const Rows& rows, std::size_t row, std::size_t column) {
  const std::optional<std::int64_t> number = rows.number(row, column);
  const std::optional<std::string_view> bytes = rows.bytes(row, column + 1);
  const std::optional<std::int64_t> version = rows.number(row, column + 2);
  const std::optional<std::int64_t> expiry = rows.number(row, column + 3);
  if (number.has_value() == bytes.has_value() || !version || !expiry) return std::nullopt;
  Item item{.value = {},
            .version = Version{static_cast<std::uint64_t>(*version)},
            .expiry = Time(Duration(*expiry))};
  if (number) {
    item.value = *number;
  } else {
    item.value.emplace<Bytes>(*bytes);
  }
  return item;
}

std::optional<Time> time_in(const Rows& rows, std::size_t column) {
  if (rows.size() == 0 || rows.columns() <= column) return std::nullopt;
  const std::optional<std::int64_t> time = rows.number(0, column);
  if (rows.number(0, 0) != 0 || !time) return std::nullopt;
  return Time(Duration(*time));
}

void KeyArrays::add(const Key& key) {
  homes_.add(key.partition.home);
  parts_.add(key.partition.part);
  sorts_.add(key.sort);
}

void KeyArrays::add_to(Statement& statement) && {
  statement.array(std::move(homes_)).array(std::move(parts_)).array(std::move(sorts_));
}

std::string call_of(const std::string& schema, std::string_view name, int parameters) {
  std::string text = "select * from " + quoted_name(schema) + "." + std::string(name) + "(";
  for (int i = 1; i <= parameters; ++i) text += (i == 1 ? "$" : ", $") + std::to_string(i);
  return text + ")";
}

}  // namespace once::postgres

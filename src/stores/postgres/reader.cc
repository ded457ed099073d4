#include "stores/postgres/reader.h"

#include <utility>

#include "stores/postgres/errors.h"
#include "stores/postgres/stored_form.h"

namespace once::postgres {
namespace {

constexpr std::int64_t kItem = 1;
constexpr std::int64_t kMore = 6;
constexpr std::size_t kListedBytes = 8U << 20;

std::unexpected<Error> damaged() {
  return failure(ErrorCode::corrupt, "postgres: a stored item is damaged");
}

void append_length(std::string& text, std::uint64_t length) {
  constexpr int kTop = 56;
  for (int shift = kTop; shift >= 0; shift -= 8) text += static_cast<char>(length >> shift);
}

// The last key of a page: lengths before home and part, and then the sort.
std::string cursor_of(const Key& key) {
  std::string cursor;
  append_length(cursor, key.partition.home.size());
  cursor += key.partition.home;
  append_length(cursor, key.partition.part.size());
  cursor += key.partition.part;
  append_length(cursor, static_cast<std::uint64_t>(key.sort));
  return cursor;
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  if (text.size() < sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number = number << 8U | static_cast<unsigned char>(text[i]);
  }
  text.remove_prefix(sizeof number);
  return number;
}

std::optional<std::string> take_part(std::string_view& text) {
  const std::optional<std::uint64_t> length = take_number(text);
  if (!length || *length > text.size()) return std::nullopt;
  std::string part(text.substr(0, *length));
  text.remove_prefix(*length);
  return part;
}

std::optional<Key> key_in(std::string_view cursor) {
  if (cursor.empty()) return Key{{"", ""}, -1};  // Before every key.
  std::optional<std::string> home = take_part(cursor);
  std::optional<std::string> part = home ? take_part(cursor) : std::nullopt;
  const std::optional<std::uint64_t> sort = part ? take_number(cursor) : std::nullopt;
  if (!sort || !cursor.empty()) return std::nullopt;
  return Key{{std::move(*home), std::move(*part)}, static_cast<std::int64_t>(*sort)};
}

// The first text after all that begin with `prefix`; nothing if there is none.
std::optional<std::string> end_of(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  ++prefix.back();
  return prefix;
}

}  // namespace

Result<Rows> ask(const CallContext& context, const Statement& statement, StoreOperation operation,
                 std::size_t time_column) {
  const Time sent = context.time.own();
  std::expected<Rows, Failure> rows = context.pool.run(statement, operation, context.deadline);
  const Time received = context.time.own();
  if (!rows) {
    return std::unexpected(reading_error_of(rows.error(), context.pool.options().schema));
  }
  const std::optional<Time> server = time_in(*rows, time_column);
  if (!server) return damaged();
  context.time.learn(sent, received, *server);
  return std::move(*rows);
}

Result<std::vector<std::optional<Item>>> read_items(const CallContext& context,
                                                    std::span<const Key> keys) {
  Statement statement(call_of(context.pool.options().schema, "get_items", 4));
  statement.number(stored(context.time.now()));
  KeyArrays arrays;
  for (const Key& key : keys) arrays.add(key);
  std::move(arrays).add_to(statement);
  const Result<Rows> rows = ask(context, statement, StoreOperation::get);
  if (!rows) return std::unexpected(rows.error());
  std::vector<std::optional<Item>> items(keys.size());
  for (std::size_t row = 1; row < rows->size(); ++row) {
    const auto at = static_cast<std::size_t>(rows->number(row, 1).value_or(-1));
    std::optional<Item> item = item_in(*rows, row, 2);
    if (at >= items.size() || !item) return damaged();
    items[at] = std::move(item);
  }
  return items;
}

Result<ScanPage> read_scan(const CallContext& context, const ScanRequest& request) {
  Statement statement(call_of(context.pool.options().schema, "scan_items", 8));
  statement.number(stored(context.time.now()))
      .bytes(request.partition.home)
      .bytes(request.partition.part)
      .number(request.first)
      .number(request.last)
      .flag(request.direction == Direction::descending)
      .number(static_cast<std::int64_t>(request.limit))
      .number(static_cast<std::int64_t>(request.max_bytes));
  const Result<Rows> rows = ask(context, statement, StoreOperation::scan);
  if (!rows) return std::unexpected(rows.error());
  ScanPage page;
  for (std::size_t row = 1; row < rows->size(); ++row) {
    if (rows->number(row, 0) == kMore) {
      page.more = true;
      break;
    }
    const std::optional<std::int64_t> sort = rows->number(row, 1);
    std::optional<Item> item = item_in(*rows, row, 2);
    if (!sort || !item) return damaged();
    page.entries.push_back({*sort, std::move(*item)});
  }
  return page;
}

Result<ListPage> read_list(const CallContext& context, const ListRequest& request) {
  const std::optional<Key> after = key_in(request.cursor);
  if (!after) return failure(ErrorCode::invalid, "no cursor of this store");
  Statement statement(call_of(context.pool.options().schema, "list_items", 8));
  statement.number(stored(context.time.now())).bytes(request.home_prefix);
  if (const std::optional<std::string> end = end_of(request.home_prefix)) {
    statement.bytes(*end);
  } else {
    statement.no_bytes();
  }
  statement.bytes(after->partition.home)
      .bytes(after->partition.part)
      .number(after->sort)
      .number(static_cast<std::int64_t>(request.limit))
      .number(static_cast<std::int64_t>(kListedBytes));
  constexpr std::size_t kTimeColumn = 4;
  const Result<Rows> rows = ask(context, statement, StoreOperation::list, kTimeColumn);
  if (!rows) return std::unexpected(rows.error());
  ListPage page;
  Key last;
  for (std::size_t row = 1; row < rows->size(); ++row) {
    if (rows->number(row, 0) == kMore) {
      page.cursor = cursor_of(last);
      break;
    }
    last = Key{{std::string(rows->bytes(row, 1).value_or("")),
                std::string(rows->bytes(row, 2).value_or(""))},
               rows->number(row, 3).value_or(0)};
    if (rows->number(row, 0) != kItem) continue;
    std::optional<Item> item = item_in(*rows, row, kTimeColumn);
    if (!item) return damaged();
    page.items.push_back({last, std::move(*item)});
  }
  return page;
}

}  // namespace once::postgres

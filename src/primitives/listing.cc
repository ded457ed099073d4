#include "primitives/listing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "primitives/record.h"

namespace once {
namespace {

constexpr std::uint8_t kCursorFormat = 1;

// Items to ask the store for at once. The first page is as large as the limit, so that a listing
// that finds everything reads nothing twice; later ones grow.
constexpr std::size_t kLargestStep = 1'000;
constexpr std::size_t kGrowth = 4;

// A page of the store that has so many bytes of values was cut for them.
constexpr std::size_t kCutForBytes = 1U << 20;

// Where the next page begins: at a page of the store, after one of its items. A store's own cursor
// is only good at the end of what it was asked for, and a page may be full before that.
struct Position {
  std::string store_cursor;
  std::size_t step = 0;  // The size of that page of the store; 0 if any will do.
  Bytes after;           // The hash of the item's key; empty to begin with the page's first.
};

Bytes hash_of(const Key& key) {
  RecordWriter out(RecordKind::cursor, kCursorFormat);
  out.bytes(key.partition.home);
  out.bytes(key.partition.part);
  out.number(static_cast<std::uint64_t>(key.sort));
  return hash128(out.finish());
}

std::string encode(const Position& position) {
  RecordWriter out(RecordKind::cursor, kCursorFormat);
  out.bytes(position.store_cursor);
  out.number(position.step);
  out.bytes(position.after);
  return out.finish();
}

Result<Position> decode_position(std::string_view cursor) {
  if (cursor.empty()) return Position{};
  Result<RecordReader> in = RecordReader::open(cursor, RecordKind::cursor, kCursorFormat);
  if (!in) return failure(ErrorCode::invalid, "not a cursor of a listing");
  Position position;
  position.store_cursor = in->bytes();
  position.step = in->number(kLargestStep);
  position.after = in->bytes();
  if (in->sound()) return position;
  return failure(ErrorCode::invalid, "not a cursor of a listing");
}

// How many of a page's items were met before. None if the one to begin after is gone.
std::size_t count_met(const ListPage& page, const Position& from) {
  if (from.after.empty()) return 0;
  for (std::size_t i = 0; i < page.items.size(); ++i) {
    if (hash_of(page.items[i].key) == from.after) return i + 1;
  }
  return 0;
}

std::size_t bytes_of(const Item& item) {
  const Bytes* const bytes = std::get_if<Bytes>(&item.value);
  return bytes != nullptr ? bytes->size() : sizeof(std::int64_t);
}

// How many items the store examined for this page, at most. It does not tell how many of other
// prefixes, and of expired ones, it passed over.
std::size_t examined_for(const ListPage& page, std::size_t asked) {
  std::size_t bytes = 0;
  for (const ListPage::Listed& listed : page.items) bytes += bytes_of(listed.item);
  const bool all_here = page.cursor.empty() || bytes >= kCutForBytes;
  return all_here ? page.items.size() : asked;
}

}  // namespace

Plan<std::string> walk(WalkRequest request, IsFound is_found) {
  if (request.limit < 1 || request.limit > kMaxPage) {
    co_return failure(ErrorCode::invalid, "limit is 1 to 10000");
  }
  Result<Position> from = decode_position(request.cursor);
  if (!from) co_return std::unexpected(std::move(from.error()));
  std::size_t step = from->step != 0 ? from->step : std::min(request.limit, kLargestStep);
  std::size_t examined = 0;
  std::size_t found = 0;
  std::size_t bytes = 0;
  for (;;) {
    const ListRequest wanted{request.home_prefix, from->store_cursor, step};
    ListPage page = co_await list(wanted);
    const Time now = co_await store_now();
    examined += examined_for(page, step);
    for (std::size_t i = count_met(page, *from); i < page.items.size(); ++i) {
      const std::size_t size = bytes_of(page.items[i].item);
      const Result<bool> is_one = is_found(page.items[i], now);
      if (!is_one) co_return std::unexpected(is_one.error());
      if (!*is_one) continue;
      ++found;
      bytes += size;
      const bool full = found == request.limit || bytes >= kMaxFoundBytes;
      if (!full || i + 1 == page.items.size()) continue;
      const Position rest{from->store_cursor, step, hash_of(page.items[i].key)};
      co_return encode(rest);
    }
    if (page.cursor.empty()) co_return std::string();
    from = Position{std::move(page.cursor), 0, {}};
    const bool full = found >= request.limit || bytes >= kMaxFoundBytes;
    if (full || examined >= kMaxExamined) co_return encode(*from);
    step = std::min({step * kGrowth, kLargestStep, kMaxExamined - examined});
  }
}

}  // namespace once

#include "stores/rocksdb/reader.h"

#include <memory>
#include <string>
#include <string_view>

#include "kernel/format.h"
#include "stores/rocksdb/engine.h"

namespace once {
namespace {

constexpr std::size_t kListPageBytes = 4U << 20;

std::size_t size_of(const format::ItemView& item) {
  return item.number ? sizeof(*item.number) : item.bytes.size();
}

Result<std::optional<Item>> item_from(const rocksdb::Status& status, std::string_view key,
                                      const rocksdb::Slice& value, Time now) {
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return std::unexpected(error_of(status, "cannot read"));
  const Result<format::ItemView> item = format::decode_item(key, view_of(value));
  if (!item) return std::unexpected(item.error());
  if (item->expiry <= now) return std::nullopt;
  return format::to_item(*item);
}

std::string encoded(const Partition& partition, std::int64_t sort) {
  std::string out;
  format::encode_key({partition, sort}, out);
  return out;
}

// Adds the iterator's item. False if the page is full without it.
Result<bool> add_entry(ScanPage& page, std::size_t& bytes, const rocksdb::Iterator& at,
                       const ScanRequest& request, Time now) {
  const std::string_view key = view_of(at.key());
  const Result<format::ItemView> item = format::decode_item(key, view_of(at.value()));
  if (!item) return std::unexpected(item.error());
  if (item->expiry <= now) return true;
  bytes += size_of(*item);
  const bool full =
      page.entries.size() == request.limit || (!page.entries.empty() && bytes > request.max_bytes);
  if (full) return false;
  page.entries.push_back({format::sort_of(key), format::to_item(*item)});
  return true;
}

// The first key a page may begin with; `invalid` if the cursor is not of this listing.
Result<std::string> start_of(const ListRequest& request, const std::string& prefix) {
  if (request.cursor.empty()) return prefix;
  if (!request.cursor.starts_with(prefix) || !format::decode_key(request.cursor)) {
    return failure(ErrorCode::invalid, "the cursor does not belong to this listing");
  }
  return request.cursor + '\0';
}

Result<void> add_listed(ListPage& page, std::size_t& bytes, const rocksdb::Iterator& at, Time now) {
  const std::string_view encoded_key = view_of(at.key());
  std::optional<Key> key = format::decode_key(encoded_key);
  if (!key) return failure(ErrorCode::corrupt, "a stored key fails its checks");
  const Result<format::ItemView> item = format::decode_item(encoded_key, view_of(at.value()));
  if (!item) return std::unexpected(item.error());
  if (item->expiry <= now) return {};
  bytes += size_of(*item);
  page.items.push_back({std::move(*key), format::to_item(*item)});
  return {};
}

}  // namespace

Result<std::vector<std::optional<Item>>> read_items(rocksdb::DB& db, std::span<const Key> keys,
                                                    Time now) {
  std::vector<std::string> encoded_keys(keys.size());
  std::vector<rocksdb::Slice> slices(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    format::encode_key(keys[i], encoded_keys[i]);
    slices[i] = encoded_keys[i];
  }
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  rocksdb::ColumnFamilyHandle* const family = db.DefaultColumnFamily();
  if (keys.size() == 1) {
    statuses[0] = db.Get({}, family, slices[0], &values[0]);
  } else {
    db.MultiGet({}, family, keys.size(), slices.data(), values.data(), statuses.data());
  }
  std::vector<std::optional<Item>> items;
  items.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto item = item_from(statuses[i], encoded_keys[i], values[i], now);
    if (!item) return std::unexpected(std::move(item.error()));
    items.push_back(std::move(*item));
  }
  return items;
}

Result<ScanPage> read_scan(rocksdb::DB& db, const ScanRequest& request, Time now) {
  ScanPage page;
  if (request.first > request.last) return page;
  const std::string first = encoded(request.partition, request.first);
  const std::string end = encoded(request.partition, request.last) + '\0';
  const rocksdb::Slice lower = first;
  const rocksdb::Slice upper = end;
  rocksdb::ReadOptions how;
  how.iterate_lower_bound = &lower;
  how.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(how));
  const bool ascending = request.direction == Direction::ascending;
  std::size_t bytes = 0;
  for (ascending ? at->SeekToFirst() : at->SeekToLast(); at->Valid();
       ascending ? at->Next() : at->Prev()) {
    const Result<bool> added = add_entry(page, bytes, *at, request, now);
    if (!added) return std::unexpected(added.error());
    page.more = !*added;
    if (page.more) break;
  }
  if (!at->status().ok()) return std::unexpected(error_of(at->status(), "cannot scan"));
  return page;
}

Result<ListPage> read_list(rocksdb::DB& db, const ListRequest& request, Time now) {
  std::string prefix;
  format::encode_home_prefix(request.home_prefix, prefix);
  const Result<std::string> start = start_of(request, prefix);
  if (!start) return std::unexpected(start.error());
  const std::string end = format::after_prefix(prefix);
  const rocksdb::Slice upper = end;
  rocksdb::ReadOptions how;
  how.iterate_upper_bound = &upper;
  how.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(how));
  ListPage page;
  std::string last;
  std::size_t examined = 0;
  std::size_t bytes = 0;
  for (at->Seek(*start); at->Valid(); at->Next()) {
    if (examined++ == request.limit || bytes >= kListPageBytes) {
      page.cursor = std::move(last);
      break;
    }
    if (Result<void> added = add_listed(page, bytes, *at, now); !added) {
      return std::unexpected(std::move(added.error()));
    }
    last.assign(at->key().data(), at->key().size());
  }
  if (!at->status().ok()) return std::unexpected(error_of(at->status(), "cannot list"));
  return page;
}

}  // namespace once

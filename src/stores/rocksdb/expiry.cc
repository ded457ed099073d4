#include "stores/rocksdb/expiry.h"

#include "kernel/format.h"
#include "stores/rocksdb/status.h"

namespace once {

bool ExpiryFilter::Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value, std::string*,
                          bool*) const {
  if (key.empty() || key[0] != format::kItemTag) return false;
  const Result<format::ItemView> item = format::decode_item(view_of(key), view_of(value));
  return item && item->expiry != kNever && item->expiry <= time_.now();
}

}  // namespace once

// Walks the items again and again and removes the expired ones.
#pragma once

#include <rocksdb/db.h>

#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "once/store.h"
#include "stores/rocksdb/expiry.h"
#include "stores/rocksdb/stripes.h"
#include "stores/rocksdb/writer.h"

namespace once {

class Sweeper {
 public:
  // All must outlive this.
  Sweeper(rocksdb::DB& db, Stripes& stripes, Writer& writer, StoreTime& time)
      : db_(db), stripes_(stripes), writer_(writer), time_(time) {}

  // Continues where the last call ended. Keeps items that cannot be decoded, so that a read reports
  // them.
  Result<Swept> sweep(std::size_t limit);

 private:
  Result<std::vector<std::string>> find_expired(std::size_t limit, Swept& swept)
      ONCE_REQUIRES(mutex_);
  Result<std::size_t> remove(std::span<const std::string> keys);

  rocksdb::DB& db_;
  Stripes& stripes_;
  Writer& writer_;
  StoreTime& time_;
  Mutex mutex_;
  std::string next_ ONCE_GUARDED_BY(mutex_);  // Empty: from the start.
};

}  // namespace once

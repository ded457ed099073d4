// What a door does about the birth mark of its store (docs/hazards.md#h41): puts it before the door
// opens, and says in the journal when the store is no longer the one that was opened.
#pragma once

#include "once/marked_store.h"
#include "server/journal.h"

namespace once::server {

class MarkWatch {
 public:
  // `store` is null, or has no mark, where nobody else can empty it. Both must outlive it.
  MarkWatch(Store* store, Journal& journal);
  ~MarkWatch();
  MarkWatch(const MarkWatch&) = delete;
  MarkWatch& operator=(const MarkWatch&) = delete;

  // The error if the mark cannot be put, and later if the store is another.
  Result<void> check() const;

 private:
  MarkedStore* const store_;
};

}  // namespace once::server

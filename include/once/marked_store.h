// Refuses to write to a store that is not the one that was opened: it was emptied, or another took
// its place (docs/hazards.md#h41). A store is told from others by one item, its mark, which is put
// once. Versions are never used twice, so the mark's version is the store's own.
#pragma once

#include <memory>

#include "once/entropy.h"
#include "once/store.h"

namespace once {

struct StoreMark {
  Key key;
  Bytes value;
};

// The mark that `once serve` puts into stores that are servers.
StoreMark birth_mark(Time created);

class MarkedStore : public Store {
 public:
  // Reads the mark. If it is gone or another, every commit from here on is `unavailable`, until the
  // store is opened again. A store that does not answer proves nothing.
  virtual void look() = 0;

  // The error that commits get; none while the store is the one that was opened.
  virtual Result<void> check_same() const = 0;
};

// Finds the mark of `inner`, or puts one. `inner` must outlive the store.
Result<std::unique_ptr<MarkedStore>> mark(Store& inner, StoreMark mark,
                                          Entropy& entropy = system_entropy());

}  // namespace once

// Refuses to write to a store that is not the one that was opened: it was emptied, or another took
// its place (docs/hazards.md#h41). A store is told from others by one item, its mark, which is put
// once. Versions are never used twice, so the mark's version is the store's own.
//
// The mark is looked at when the store is opened, before the first commit if it had none then, and
// every second while it is open. What is written between the emptying and the next look is not
// prevented.
#pragma once

#include <functional>
#include <memory>

#include "once/entropy.h"
#include "once/store.h"

namespace once {

struct StoreMark {
  Key key;
  Bytes value;
};

// The mark of stores that are servers. open_store() opens them with it.
StoreMark birth_mark(Time created);

class MarkedStore : public Store {
 public:
  // Puts the mark if the store has none, as the first commit does: for a process that stays, since
  // a store without a mark may be emptied unnoticed.
  virtual Result<void> put_mark() = 0;

  // Reads the mark. If it is gone or another, every commit from here on is `unavailable`, until the
  // store is opened again. A store that does not answer proves nothing.
  virtual void look() = 0;

  // What is marked: its own interface has more than a store's.
  virtual Store& unmarked() = 0;

  // The error that commits get; none while the store is the one that was opened.
  virtual Result<void> check_same() const = 0;

  // Calls `tell` once, with that error, on the thread that finds it out: at once if it is known. In
  // the place of what was told before; waits for a call under way.
  virtual void on_replaced(std::function<void(const Error&)> tell) = 0;
};

// An error if `inner` does not tell whether it has the mark. `clock` and `entropy` must outlive the
// store.
Result<std::unique_ptr<MarkedStore>> mark(std::unique_ptr<Store> inner, StoreMark mark,
                                          Clock& clock = system_clock(),
                                          Entropy& entropy = system_entropy());

}  // namespace once

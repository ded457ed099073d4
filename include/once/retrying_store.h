// Sends failed requests again where that is safe, and resolves commits whose outcome is unknown.
//
// `unavailable` is sent again: nothing was written. After `unknown` the commit is read back:
//   applied   one of its versions is there: it is answered as Committed;
//   refused   a key under absent_lasting() holds another's item: it is answered as Lost;
//   unknown   neither. It is sent again only if it cannot take effect twice: it has no add, and a
//             write under unchanged() or absent_lasting() that its own landing would make fail.
//             Otherwise, and when the deadline has come, the answer is `unknown`.
// An add is therefore never sent again after `unknown`. All other errors are passed on at once.
//
// A commit found by reading back gives the numbers of its adds and raises only where its own
// version is still there.
//
// commit_each: each transaction is treated by itself; those sent again go together and in order.
// One that shares a key with a later, already decided one of the group is not sent again, because
// it would then come after it: it stays `unavailable` or `unknown`. Transactions without a common
// key may be decided out of order.
#pragma once

#include <memory>

#include "once/entropy.h"
#include "once/store.h"

namespace once {

// The n-th pause is evenly spread between zero and base * 2^n, but never longer than `cap`.
struct RetryOptions {
  Duration base = std::chrono::milliseconds(20);
  Duration cap = std::chrono::seconds(2);

  // Nothing is begun after this. What `inner` itself may take for one call comes on top, and both
  // together must stay within kAttemptLife. Longer ones are cut to kAttemptLife.
  Duration deadline = std::chrono::seconds(10);
};

// All must outlive the store.
std::unique_ptr<Store> retry(Store& inner, RetryOptions options = {}, Clock& clock = system_clock(),
                             Entropy& entropy = system_entropy());

}  // namespace once

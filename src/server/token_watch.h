// Keeps a server's copy of the tokens up to date: another process on the same store may have made
// or revoked some. Says what is wrong with them, once, and how old the copy is.
#pragma once

#include <set>
#include <string>

#include "api/tokens.h"
#include "metrics/registry.h"
#include "server/journal.h"

namespace once::server {

// take() is called by one thread at a time.
class TokenWatch {
 public:
  // All must outlive it.
  TokenWatch(tokens::Table& table, Journal& journal, metrics::Registry& registry);

  // What the store answered when it was asked at `asked`. After an error the copy stays as it is
  // and grows old. `corrupt` if nothing was known before: nobody is let in then.
  void take(Result<tokens::Listing> listing, Time asked);

  // The store has tokens and no mark that it is closed: it was written by an older version, or its
  // writer died in between.
  bool lacks_mark() const { return lacks_mark_; }

 private:
  void note_damaged(const tokens::Listing& listing);
  void note_trust();

  tokens::Table& table_;
  Journal& journal_;
  std::set<std::string> damaged_;  // Those that were spoken of.
  bool lacks_mark_ = false;
  bool was_trusted_ = true;
  const metrics::Registry::Collecting collecting_;  // Last: it uses the above.
};

}  // namespace once::server

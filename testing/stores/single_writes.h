// Keys, writes and commits of one write, as tests of one store make them.
#pragma once

#include <string>
#include <utility>

#include "once/store.h"

namespace once::testing {

inline Key key_at(std::string home, std::int64_t sort = 0, std::string part = "") {
  return {{std::move(home), std::move(part)}, sort};
}

inline Write fresh(Write write) {
  write.version = system_entropy().version();
  return write;
}

inline Result<CommitOutcome> commit_one(Store& store, const Write& write) {
  return store.commit({&write, 1});
}

inline bool wins(const Result<CommitOutcome>& answer) { return answer && committed(*answer); }

}  // namespace once::testing

// What the server under test keeps its data in: a new and empty store for each test, of the kind
// that $ONCE_TEST_STORE names. A directory otherwise, or memory where the build has no other.
#pragma once

#include <string>

#include "testing/stores/chosen_store.h"

namespace once::testing {

class ServedStore {
 public:
  static const StoreHarness& harness() { return chosen_harness({"rocksdb", "memory"}); }

  const std::string& address() const { return store_.address; }

 private:
  const StoreAtAddress store_ = harness().serve();
};

}  // namespace once::testing

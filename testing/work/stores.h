// The stores on which crashes are tried, each on its real server.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "testing/server_process.h"
#include "testing/stores/chosen_store.h"

namespace once::testing {

inline bool is_long() { return std::getenv("ONCE_LONG") != nullptr; }

// The embedded store, behind a server so that workers can share it.
inline constexpr const char* kBehindServer = "server";

inline const StoreHarness& harness_of(const std::string& store) {
  return *find_harness(store == kBehindServer ? "rocksdb" : store);
}

// The one that is tried every time, or all that workers can share.
inline std::vector<std::string> stores_to_try(const std::string& every_time) {
  if (!is_long()) return {every_time};
  std::vector<std::string> all = {kBehindServer};
  for (const StoreHarness& harness : store_harnesses()) {
    if (harness.has_server()) all.push_back(harness.name);
  }
  return all;
}

// A new and empty one.
class SharedStore {
 public:
  explicit SharedStore(const std::string& store) : store_(harness_of(store).serve()) {
    if (store == kBehindServer) server_ = std::make_unique<ServerProcess>(store_.address);
  }

  const std::string& address() const { return server_ ? server_->url() : store_.address; }

 private:
  const StoreAtAddress store_;
  std::unique_ptr<ServerProcess> server_;
};

}  // namespace once::testing

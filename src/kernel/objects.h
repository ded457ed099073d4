// Named objects in a bucket, beside any store: where `once backup` puts its copies.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"

namespace once {

// Names are without the prefix that the address has. Each call blocks, and tries again what failed
// for a moment: putting and removing the same twice does no harm. Safe to share between threads.
class Objects {
 public:
  virtual ~Objects() = default;

  virtual Result<void> put(std::string_view name, std::string bytes) = 0;
  virtual Result<std::string> get(std::string_view name) = 0;  // `invalid`: there is none.
  virtual Result<std::vector<std::string>> list(std::string_view prefix) = 0;  // In order.
  virtual Result<void> remove(std::string_view name) = 0;

  // An object has at most so many bytes.
  static constexpr std::size_t kMostBytes = 8U << 20;
};

}  // namespace once

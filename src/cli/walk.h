// A walk through the items of a store, and what it met, so that two walks can be compared.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "cli/invocation.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "wire/json.h"

namespace once::cli {

// A page is no snapshot, but two walks that met the same items under the same versions are: each
// item was what it is at the moment between them, because no version is ever used again. What
// expired meanwhile is left out of the comparison, as it is absent either way.
class Walk {
 public:
  Walk(const Invocation& invocation, Target& target, Progress& progress);

  // All items, or those of the namespace that is named. `on_item` is given each as a line of JSON,
  // and its check. What could not be done is told, and its exit code is returned.
  using OnItem = std::function<void(const std::string& line, std::uint32_t check)>;
  int run(const OnItem& on_item);

  Time began() const { return began_; }  // By the store's clock.
  bool alone() const { return alone_; }  // No other process could write meanwhile.

  // Whether another walk, begun after this one, met the same.
  bool agrees_with(const Walk& later) const;

 private:
  struct Sum {
    std::uint64_t items = 0;
    std::uint64_t hashes = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
  };

  int take(const api::Response& page, const OnItem& on_item);
  void note(const std::string& line, api::Json item);
  Sum after(std::int64_t minute) const;  // Of what expires later.

  const Invocation& invocation_;
  Target& target_;
  Progress& progress_;

  bool started_ = false;
  bool alone_ = false;
  Time began_;
  Time ended_;
  std::string cursor_;  // Empty at the end.

  std::map<std::int64_t, Sum> by_expiry_;  // By minutes since 1970, up to some days ahead.
};

}  // namespace once::cli

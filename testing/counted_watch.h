// A watch that only knows for which homes it was asked; a test tells the rest by itself.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "once/home_watch.h"

namespace once::testing {

class CountedWatch final : public HomeWatch {
 public:
  void start(Listener) override {}
  void stop() override {}
  void add(const std::string& home) override {
    const std::lock_guard lock(mutex_);
    ++counts_[home];
  }
  void remove(const std::string& home) override {
    const std::lock_guard lock(mutex_);
    --counts_[home];
  }
  bool is_live() const override { return live; }

  int count(const std::string& home) {
    const std::lock_guard lock(mutex_);
    return counts_[home];
  }

  std::atomic<bool> live = true;

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

}  // namespace once::testing

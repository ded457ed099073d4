#include "server/mark_watch.h"

namespace once::server {

MarkWatch::MarkWatch(Store* store, Journal& journal) : store_(dynamic_cast<MarkedStore*>(store)) {
  if (store_ == nullptr) return;
  store_->on_replaced([&journal](const Error& error) {
    journal.line(Level::error, "store_replaced").text("reason", error.message);
  });
}

MarkWatch::~MarkWatch() {
  if (store_ != nullptr) store_->on_replaced(nullptr);
}

Result<void> MarkWatch::check() const {
  return store_ != nullptr ? store_->put_mark() : Result<void>();
}

}  // namespace once::server

#include "stores/memory/recency.h"

namespace once::memory {

void Recency::add(Ref ref, std::size_t charge) {
  bytes_.store(bytes() + charge, std::memory_order_relaxed);
  link(ref);
  if (oldest_ == ref) publish();
}

void Recency::remove(Ref ref, std::size_t charge) {
  bytes_.store(bytes() - charge, std::memory_order_relaxed);
  const bool was_oldest = oldest_ == ref;
  unlink(ref);
  if (was_oldest) publish();
}

void Recency::touch(Ref ref) {
  const bool was_oldest = oldest_ == ref;
  unlink(ref);
  link(ref);
  if (was_oldest) publish();
}

std::optional<std::uint32_t> Recency::oldest_use() const {
  const std::uint64_t use = oldest_use_.load(std::memory_order_relaxed);
  if (use == kNothing) return std::nullopt;
  return static_cast<std::uint32_t>(use);
}

void Recency::unlink(Ref ref) {
  const Ref newer = node(ref).newer();
  const Ref older = node(ref).older();
  if (newer != kNull) {
    node(newer).set_older(older);
  } else {
    newest_ = older;
  }
  if (older != kNull) {
    node(older).set_newer(newer);
  } else {
    oldest_ = newer;
  }
}

void Recency::link(Ref ref) {
  Node item = node(ref);
  item.set_newer(kNull);
  item.set_older(newest_);
  item.set_used(clock_.fetch_add(1, std::memory_order_relaxed));
  if (newest_ != kNull) {
    node(newest_).set_newer(ref);
  } else {
    oldest_ = ref;
  }
  newest_ = ref;
}

void Recency::publish() {
  oldest_use_.store(oldest_ == kNull ? kNothing : node(oldest_).used(), std::memory_order_relaxed);
}

}  // namespace once::memory

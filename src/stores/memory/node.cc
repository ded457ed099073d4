#include "stores/memory/node.h"

namespace once::memory {

std::uint32_t Draft::head() const {
  const auto length = static_cast<std::uint32_t>(number ? sizeof *number : bytes.size());
  return length << Node::kFlagBits | (number ? Node::kNumber : 0) |
         (key.sort != 0 ? Node::kSorted : 0) | (expiry != kNever ? Node::kExpires : 0) |
         (ranked ? Node::kRanked : 0);
}

std::size_t Draft::node_bytes() const {
  const std::uint32_t flags = head();
  return Node::home_at(flags) + key.partition.home.size() + key.partition.part.size() +
         (flags >> Node::kFlagBits);
}

void Node::write(const Draft& draft) {
  const Partition& partition = draft.key.partition;
  store(0, draft.head());
  store(4, static_cast<std::uint16_t>(partition.home.size()));
  store(6, static_cast<std::uint16_t>(partition.part.size()));
  store(8, draft.version.number);
  if (expires()) store(16, std::int64_t{draft.expiry.time_since_epoch().count()});
  if (draft.key.sort != 0) store(sort_at(), draft.key.sort);
  std::byte* to = at_ + home_at();
  std::memcpy(to, partition.home.data(), partition.home.size());
  to += partition.home.size();
  std::memcpy(to, partition.part.data(), partition.part.size());
  to += partition.part.size();
  if (draft.number) {
    std::memcpy(to, &*draft.number, sizeof *draft.number);
  } else if (!draft.bytes.empty()) {
    std::memcpy(to, draft.bytes.data(), draft.bytes.size());
  }
}

std::optional<std::int64_t> Node::number() const {
  if ((head() & kNumber) == 0) return std::nullopt;
  return load<std::int64_t>(value_at());
}

Key Node::key() const { return {{std::string(home()), std::string(part())}, sort()}; }

Item Node::item() const {
  Item item{.value = {}, .version = version(), .expiry = expiry()};
  if ((head() & kNumber) != 0) {
    item.value = load<std::int64_t>(value_at());
  } else {
    item.value.emplace<Bytes>(text(value_at(), value_bytes()));
  }
  return item;
}

}  // namespace once::memory

#include "stores/memory/node.h"

#include <bit>

namespace once::memory {
namespace {

// Of the bytes of a number, the first ones that hold it: the rest repeat the sign.
static_assert(std::endian::native == std::endian::little);
std::size_t bytes_of(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number < 0 ? ~number : number);
  return static_cast<std::size_t>(std::bit_width(bits)) / 8 + 1;
}

}  // namespace

std::uint32_t Draft::head() const {
  const auto length = static_cast<std::uint32_t>(number ? bytes_of(*number) : bytes.size());
  return length << Node::kFlagBits | (number ? Node::kNumber : 0) |
         (key.sort != 0 ? Node::kSorted : 0) | (expiry != kNever ? Node::kExpires : 0) |
         (ranked ? Node::kRanked : 0) | (!key.partition.part.empty() ? Node::kParted : 0);
}

std::size_t Draft::node_bytes() const {
  const std::uint32_t flags = head();
  return Node::home_at(flags) + key.partition.home.size() + key.partition.part.size() +
         (flags >> Node::kFlagBits);
}

void Node::write(const Draft& draft) {
  const Partition& partition = draft.key.partition;
  const std::uint32_t head = draft.head();
  store(0, head);
  store(kHomeBytesAt, static_cast<std::uint16_t>(partition.home.size()));
  store(kVersionAt, draft.version.number);
  if (expires()) store(kExpiryAt, std::int64_t{draft.expiry.time_since_epoch().count()});
  if (draft.key.sort != 0) store(sort_at(head), draft.key.sort);
  if (!partition.part.empty()) {
    store(part_bytes_at(head), static_cast<std::uint16_t>(partition.part.size()));
  }
  std::byte* to = at_ + home_at(head);
  std::memcpy(to, partition.home.data(), partition.home.size());
  to += partition.home.size();
  std::memcpy(to, partition.part.data(), partition.part.size());
  to += partition.part.size();
  if (draft.number) {
    std::memcpy(to, &*draft.number, value_bytes());
  } else if (!draft.bytes.empty()) {
    std::memcpy(to, draft.bytes.data(), draft.bytes.size());
  }
}

std::int64_t Node::load_number() const {
  std::int64_t number = 0;
  std::memcpy(&number, at_ + value_at(), value_bytes());
  const std::size_t unused = (sizeof number - value_bytes()) * 8;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << unused) >> unused;
}

std::optional<std::int64_t> Node::number() const {
  if ((head() & kNumber) == 0) return std::nullopt;
  return load_number();
}

Key Node::key() const { return {{std::string(home()), std::string(part())}, sort()}; }

Item Node::item() const {
  Item item{.value = {}, .version = version(), .expiry = expiry()};
  if ((head() & kNumber) != 0) {
    item.value = load_number();
  } else {
    item.value.emplace<Bytes>(text(value_at(), value_bytes()));
  }
  return item;
}

}  // namespace once::memory

#include "stores/memory/partition_table.h"

#include <algorithm>
#include <cstring>

namespace once::memory {

void PartitionTable::insert(std::uint32_t hash, std::uint32_t entry) {
  // At most 6/7 full; growing by a sixth keeps it above 36/49.
  if ((size_ + 1) * 7 > homes_ * 6) rebuild(homes_ + homes_ / 6 + 8);
  std::size_t place = home_of(hash);
  while (slots_[place].entry != 0 && slots_[place].hash <= hash) ++place;
  std::size_t gap = place;
  while (slots_[gap].entry != 0) ++gap;
  if (gap + 1 == slots_.size()) {
    slots_.reserve(slots_.size() + kSpare);
    slots_.resize(slots_.size() + kSpare);
    publish();
  }
  std::memmove(&slots_[place + 1], &slots_[place], (gap - place) * sizeof(Slot));
  slots_[place] = {hash, entry};
  ++size_;
}

void PartitionTable::erase(std::size_t index) {
  std::size_t last = index;
  while (slots_[last + 1].entry != 0 && home_of(slots_[last + 1].hash) <= last) ++last;
  std::memmove(&slots_[index], &slots_[index + 1], (last - index) * sizeof(Slot));
  slots_[last] = {};
  --size_;
  if (homes_ > 64 && size_ * 3 < homes_) rebuild(homes_ / 2);
}

std::size_t PartitionTable::next(std::size_t index) const {
  while (index < slots_.size() && slots_[index].entry == 0) ++index;
  return index < slots_.size() ? index : kNone;
}

std::size_t PartitionTable::lower_bound(std::uint32_t hash) const {
  std::size_t index = next(home_of(hash));
  while (index != kNone && slots_[index].hash < hash) index = next(index + 1);
  return index;
}

void PartitionTable::rebuild(std::size_t homes) {
  std::vector<Slot> old(homes + kSpare);
  old.swap(slots_);
  homes_ = homes;
  std::size_t place = 0;
  for (const Slot& slot : old) {
    if (slot.entry == 0) continue;
    place = std::max(place, home_of(slot.hash));
    if (place + 1 >= slots_.size()) slots_.resize(place + 1 + kSpare);
    slots_[place++] = slot;
  }
  publish();
}

}  // namespace once::memory

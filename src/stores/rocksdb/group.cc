#include "stores/rocksdb/group.h"

#include <absl/container/flat_hash_map.h>
#include <xxhash.h>

#include <bit>

#include "stores/rocksdb/engine.h"

namespace once {
namespace {

bool depends_on_current(const Write& write) {
  if (write.guard.kind != Guard::Kind::anything) return true;
  return write.kind != Write::Kind::put && write.kind != Write::Kind::erase;
}

bool has_number(const Write& write) {
  return write.kind == Write::Kind::add || write.kind == Write::Kind::raise;
}

format::ItemView written_by(const Write& write, std::optional<std::int64_t> number) {
  format::ItemView item{.number = number, .version = write.version, .expiry = write.expiry};
  if (number) return item;
  if (const auto* given = std::get_if<std::int64_t>(&write.value)) {
    item.number = *given;
  } else {
    item.bytes = std::get<Bytes>(write.value);
  }
  return item;
}

CurrentItem known_of(const format::ItemView& item) {
  return {item.version, item.number, item.expiry == kNever};
}

}  // namespace

template <class F>
void Stripes::Held::for_each(F f) {
  for (std::size_t word = 0; word < held_.size(); ++word) {
    for (std::uint64_t bits = held_[word]; bits != 0; bits &= bits - 1) {
      f(stripes_.stripes_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))]);
    }
  }
}

// The analysis cannot follow locks chosen by data.
Stripes::Held::Held(Stripes& stripes, std::span<const std::string_view> keys) : stripes_(stripes) {
  for (const std::string_view key : keys) {
    const std::size_t stripe = XXH3_64bits(key.data(), key.size()) % kCount;
    held_[stripe / 64] |= std::uint64_t{1} << (stripe % 64);
  }
  for_each([](Mutex& stripe) ONCE_UNCHECKED_LOCKING { stripe.lock(); });
}

Stripes::Held::~Held() {
  for_each([](Mutex& stripe) ONCE_UNCHECKED_LOCKING { stripe.unlock(); });
}

Group::Group(std::span<const Transaction> transactions) : transactions_(transactions) {
  encode_keys();
  assign_slots();
}

void Group::encode_keys() {
  std::size_t bytes = 0;
  std::size_t writes = 0;
  for (const Transaction& transaction : transactions_) {
    writes += transaction.size();
    for (const Write& write : transaction) {
      bytes += write.key.partition.home.size() + write.key.partition.part.size() + 16;
    }
  }
  encoded_.reserve(bytes);
  std::vector<std::size_t> ends;
  ends.reserve(writes);
  for (const Transaction& transaction : transactions_) {
    for (const Write& write : transaction) {
      format::encode_key(write.key, encoded_);
      ends.push_back(encoded_.size());
    }
  }
  keys_.reserve(writes);
  std::size_t start = 0;
  for (const std::size_t end : ends) {
    keys_.push_back(std::string_view(encoded_).substr(start, end - start));
    start = end;
  }
}

void Group::assign_slots() {
  if (transactions_.size() > 1) {
    absl::flat_hash_map<std::string_view, std::uint32_t> known;
    known.reserve(keys_.size());
    slot_of_.reserve(keys_.size());
    std::uint32_t count = 0;
    for (const std::string_view key : keys_) {
      const auto [at, fresh] = known.try_emplace(key, count);
      slot_of_.push_back(at->second);
      if (fresh) keys_[count++] = key;
    }
    keys_.resize(count);
  }
  slots_.resize(keys_.size());
  std::size_t index = 0;
  for (const Transaction& transaction : transactions_) {
    for (const Write& write : transaction) {
      slot_of(index++).needed |= depends_on_current(write);
    }
  }
}

void Group::read(rocksdb::DB& db, Time now) {
  std::vector<std::uint32_t> needed;
  needed.reserve(slots_.size());
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].needed) needed.push_back(i);
  }
  if (needed.empty()) return;
  values_.resize(needed.size());
  rocksdb::ColumnFamilyHandle* const family = db.DefaultColumnFamily();
  if (needed.size() == 1) {
    const std::string_view key = keys_[needed[0]];
    const rocksdb::Status status = db.Get({}, family, slice_of(key), &values_[0]);
    accept(slots_[needed[0]], key, status, values_[0], now);
    return;
  }
  std::vector<rocksdb::Slice> keys;
  keys.reserve(needed.size());
  for (const std::uint32_t i : needed) keys.push_back(slice_of(keys_[i]));
  std::vector<rocksdb::Status> statuses(keys.size());
  db.MultiGet({}, family, keys.size(), keys.data(), values_.data(), statuses.data());
  for (std::size_t i = 0; i < needed.size(); ++i) {
    accept(slots_[needed[i]], keys_[needed[i]], statuses[i], values_[i], now);
  }
}

void Group::accept(Slot& slot, std::string_view key, const rocksdb::Status& status,
                   const rocksdb::Slice& value, Time now) {
  if (status.IsNotFound()) {
    slot.stored = false;
    return;
  }
  if (!status.ok()) {
    slot.fault = error_of(status, "cannot read what a commit depends on");
    return;
  }
  Result<format::ItemView> item = format::decode_item(key, view_of(value));
  if (!item) {
    slot.fault = std::move(item.error());
    return;
  }
  slot.item = *item;
  slot.present = item->expiry > now;
}

std::vector<Result<CommitOutcome>> Group::evaluate(Time now) {
  std::vector<Result<CommitOutcome>> answers;
  answers.reserve(transactions_.size());
  std::size_t first = 0;
  for (const Transaction& transaction : transactions_) {
    answers.push_back(evaluate_one(transaction, first, now));
    first += transaction.size();
  }
  return answers;
}

Result<CommitOutcome> Group::evaluate_one(Transaction writes, std::size_t first, Time now) {
  if (auto refused = refusal(writes, first)) return std::move(*refused);
  effects_.clear();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Slot& slot = slot_of(first + i);
    const CurrentItem current = known_of(slot.item);
    Result<Effect> effect = effect_of(writes[i], slot.present ? &current : nullptr);
    if (!effect) return std::unexpected(std::move(effect.error()));
    effects_.push_back(*effect);
  }
  return apply(writes, first, now);
}

// The first write that cannot be decided, or whose guard does not hold.
std::optional<Result<CommitOutcome>> Group::refusal(Transaction writes, std::size_t first) {
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Slot& slot = slot_of(first + i);
    if (slot.fault && depends_on_current(writes[i])) return std::unexpected(*slot.fault);
    const CurrentItem current = known_of(slot.item);
    if (holds(writes[i].guard, slot.present ? &current : nullptr)) continue;
    Lost lost{.write = i, .current = std::nullopt};
    if (slot.present) lost.current = format::to_item(slot.item);
    return lost;
  }
  return std::nullopt;
}

Committed Group::apply(Transaction writes, std::size_t first, Time now) {
  Committed done;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const Effect& effect = effects_[i];
    if (has_number(writes[i])) {
      done.numbers.resize(writes.size());
      done.numbers[i] = effect.number;
    }
    if (effect.kind == Effect::Kind::none) continue;
    Slot& slot = slot_of(first + i);
    slot.fault.reset();
    slot.left = effect.kind;
    slot.present = effect.kind == Effect::Kind::put && writes[i].expiry > now;
    if (effect.kind == Effect::Kind::put) slot.item = written_by(writes[i], effect.number);
  }
  return done;
}

void Group::collect(rocksdb::WriteBatch& batch) const {
  std::string value;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.left == Effect::Kind::put) {
      value.clear();
      format::encode_item(keys_[i], slot.item, value);
      batch.Put(slice_of(keys_[i]), value);
    } else if (slot.left == Effect::Kind::erase && slot.stored) {
      batch.Delete(slice_of(keys_[i]));
    }
  }
}

}  // namespace once

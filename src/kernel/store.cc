// The checks every store shares, so that a bad request is refused in the same words everywhere and
// before anything is written.
#include "once/store.h"

#include <algorithm>
#include <functional>
#include <string>

namespace once {
namespace {

using Checked = Result<void>;

Checked check_partition(const Partition& partition, const Limits& limits) {
  if (partition.home.empty()) return failure(ErrorCode::invalid, "a key needs a home");
  if (partition.home.size() + partition.part.size() > limits.partition_bytes) {
    return failure(ErrorCode::invalid,
                   "key is longer than " + std::to_string(limits.partition_bytes) + " bytes");
  }
  return {};
}

Checked check_key(const Key& key, const Limits& limits) {
  if (key.sort < 0) return failure(ErrorCode::invalid, "sort is negative: " + to_text(key));
  return check_partition(key.partition, limits);
}

Checked check_guard(const Write& write) {
  if (write.guard.kind == Guard::Kind::unchanged && !write.guard.version) {
    return failure(ErrorCode::invalid, "a guard names no version: " + to_text(write.key));
  }
  if (write.kind == Write::Kind::check && write.guard.kind == Guard::Kind::anything) {
    return failure(ErrorCode::invalid, "a check without a guard: " + to_text(write.key));
  }
  return {};
}

Checked check_value(const Write& write, const Limits& limits) {
  if (write.kind == Write::Kind::erase || write.kind == Write::Kind::check) return {};
  if (!write.version) {
    return failure(ErrorCode::invalid, "a write has no version: " + to_text(write.key));
  }
  const Bytes* bytes = std::get_if<Bytes>(&write.value);
  if (bytes == nullptr) return {};
  if (write.kind != Write::Kind::put) {
    return failure(ErrorCode::invalid, "add and raise take an integer: " + to_text(write.key));
  }
  if (bytes->size() > limits.value_bytes) {
    return failure(ErrorCode::too_large, "value is longer than " +
                                             std::to_string(limits.value_bytes) +
                                             " bytes: " + to_text(write.key));
  }
  return {};
}

Checked check_no_key_twice(Transaction writes) {
  std::vector<std::reference_wrapper<const Key>> keys;
  keys.reserve(writes.size());
  for (const Write& write : writes) keys.emplace_back(write.key);
  std::ranges::sort(keys, [](const Key& a, const Key& b) { return a < b; });
  const auto twice =
      std::ranges::adjacent_find(keys, [](const Key& a, const Key& b) { return a == b; });
  if (twice == keys.end()) return {};
  return failure(ErrorCode::invalid, "a key twice in one commit: " + to_text(*twice));
}

Checked check_one_home(Transaction writes) {
  const std::string& home = writes[0].key.partition.home;
  for (const Write& write : writes) {
    if (write.key.partition.home != home) {
      return failure(ErrorCode::unsupported, "this store commits within one home only");
    }
  }
  return {};
}

Checked check_transaction(Transaction writes, const Limits& limits) {
  if (writes.empty()) return failure(ErrorCode::invalid, "a commit without writes");
  if (writes.size() > limits.writes_per_commit) {
    return failure(ErrorCode::unsupported,
                   "this store takes " + std::to_string(limits.writes_per_commit) +
                       " writes in a commit, not " + std::to_string(writes.size()));
  }
  for (const Write& write : writes) {
    if (Checked ok = check_key(write.key, limits); !ok) return ok;
    if (Checked ok = check_guard(write); !ok) return ok;
    if (Checked ok = check_value(write, limits); !ok) return ok;
  }
  if (writes.size() == 1) return {};
  if (limits.one_home_per_commit) {
    if (Checked ok = check_one_home(writes); !ok) return ok;
  }
  return check_no_key_twice(writes);
}

Checked check_page(std::size_t limit) {
  if (limit >= 1 && limit <= kMaxPage) return {};
  return failure(ErrorCode::invalid, "limit must be 1 to " + std::to_string(kMaxPage));
}

Checked check_scan(const ScanRequest& request, const Limits& limits) {
  if (request.first < 0 || request.last < 0) {
    return failure(ErrorCode::invalid, "sort is never negative");
  }
  const bool ascending = request.direction == Direction::ascending;
  if (!(ascending ? limits.scans_ascending : limits.scans_descending)) {
    return failure(ErrorCode::unsupported, "this store cannot scan in that direction");
  }
  if (Checked ok = check_page(request.limit); !ok) return ok;
  return check_partition(request.partition, limits);
}

}  // namespace

std::uint64_t Store::place(const Key& key) const {
  constexpr std::uint64_t kPrime = 1'099'511'628'211U;
  const std::hash<std::string_view> hash;
  return hash(key.partition.home) * kPrime ^ hash(key.partition.part);
}

Result<std::vector<std::optional<Item>>> Store::get(std::span<const Key> keys) {
  if (keys.empty()) return {};
  if (keys.size() > limits().keys_per_get) {
    return failure(ErrorCode::invalid,
                   "at most " + std::to_string(limits().keys_per_get) + " keys in one get");
  }
  for (const Key& key : keys) {
    if (Checked ok = check_key(key, limits()); !ok) return std::unexpected(ok.error());
  }
  return do_get(keys);
}

Result<std::optional<Item>> Store::get(const Key& key) {
  auto items = get(std::span<const Key>(&key, 1));
  if (!items) return std::unexpected(std::move(items.error()));
  return std::move(items->front());
}

Result<ScanPage> Store::scan(const ScanRequest& request) {
  if (Checked ok = check_scan(request, limits()); !ok) return std::unexpected(ok.error());
  return do_scan(request);
}

Result<ListPage> Store::list(const ListRequest& request) {
  if (Checked ok = check_page(request.limit); !ok) return std::unexpected(ok.error());
  return do_list(request);
}

Result<CommitOutcome> Store::commit(Transaction transaction) {
  if (Checked ok = check_transaction(transaction, limits()); !ok) {
    return std::unexpected(ok.error());
  }
  return do_commit(transaction);
}

std::vector<Result<CommitOutcome>> Store::commit_each(std::span<const Transaction> transactions) {
  const bool fits = transactions.size() <= limits().commits_per_group;
  const auto check = [&](const Transaction& transaction) -> Checked {
    if (!fits) return failure(ErrorCode::invalid, "too many commits in one group");
    return check_transaction(transaction, limits());
  };
  const auto passes = [&](const Transaction& transaction) {
    return check(transaction).has_value();
  };
  if (transactions.empty()) return {};
  if (std::ranges::all_of(transactions, passes)) return do_commit_each(transactions);
  std::vector<Result<CommitOutcome>> answers(transactions.size());
  std::vector<Transaction> sound;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    if (Checked ok = check(transactions[i]); !ok) {
      answers[i] = std::unexpected(std::move(ok.error()));
    } else {
      sound.push_back(transactions[i]);
    }
  }
  if (sound.empty()) return answers;
  std::vector<Result<CommitOutcome>> given = do_commit_each(sound);
  auto next = given.begin();
  for (Result<CommitOutcome>& answer : answers) {
    if (answer) answer = std::move(*next++);
  }
  return answers;
}

std::vector<Result<CommitOutcome>> Store::do_commit_each(
    std::span<const Transaction> transactions) {
  std::vector<Result<CommitOutcome>> answers;
  answers.reserve(transactions.size());
  for (const Transaction& transaction : transactions) answers.push_back(do_commit(transaction));
  return answers;
}

}  // namespace once

#include "drivers/store_call.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "drivers/perform.h"

namespace once::detail {
namespace {

// A list walks the whole store.
constexpr std::uint64_t kWholeStore = std::numeric_limits<std::uint64_t>::max();

// What a write costs besides its value, as bytes.
constexpr std::size_t kWriteBytes = 64;

// One after the other in a call, to save the way to its thread and back.
constexpr std::size_t kScansInCall = 16;

std::span<const Key> keys_of(const Step& step) {
  if (auto* const* one = std::get_if<GetOneStep*>(&step)) return {(*one)->key, 1};
  return std::get<GetStep*>(step)->keys;
}

std::span<const std::span<Write>> transactions_of(const Step& step) {
  if (auto* const* one = std::get_if<CommitStep*>(&step)) return {&(*one)->writes, 1};
  return std::get<CommitEachStep*>(step)->transactions;
}

// Gives a step its part of a joint answer.
void answer_commits(const Step& step, std::span<Result<CommitOutcome>> outcomes) {
  if (auto* const* one = std::get_if<CommitStep*>(&step)) {
    (*one)->answer = std::move(outcomes.front());
    return;
  }
  std::get<CommitEachStep*>(step)->answer = std::vector(std::make_move_iterator(outcomes.begin()),
                                                        std::make_move_iterator(outcomes.end()));
}

void answer_get(const Step& step, std::span<std::optional<Item>> items) {
  if (auto* const* one = std::get_if<GetOneStep*>(&step)) {
    (*one)->answer = std::move(items.front());
    return;
  }
  std::get<GetStep*>(step)->answer =
      std::vector(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
}

// A joint get that fails because of one key is repeated one by one, so that the others get their
// answers. A store that is not available was asked for long enough.
void perform_gets(std::span<Task* const> tasks, Store& store, Entropy& entropy) {
  if (tasks.size() == 1) return detail::perform(tasks.front()->step, store, entropy);
  std::vector<Key> keys;
  for (const Task* task : tasks) {
    const std::span<const Key> wanted = keys_of(task->step);
    keys.insert(keys.end(), wanted.begin(), wanted.end());
  }
  Result<std::vector<std::optional<Item>>> items = store.get(keys);
  const bool unavailable = !items && items.error().code == ErrorCode::unavailable;
  std::size_t at = 0;
  for (const Task* task : tasks) {
    if (unavailable) {
      fail_step(task->step, items.error());
    } else if (!items) {
      detail::perform(task->step, store, entropy);
    } else {
      const std::size_t count = keys_of(task->step).size();
      answer_get(task->step, std::span(*items).subspan(at, count));
      at += count;
    }
  }
}

void perform_commits(std::span<Task* const> tasks, Store& store) {
  std::vector<Transaction> transactions;
  transactions.reserve(tasks.size());
  for (const Task* task : tasks) {
    const auto wanted = transactions_of(task->step);
    transactions.insert(transactions.end(), wanted.begin(), wanted.end());
  }
  std::vector<Result<CommitOutcome>> outcomes = store.commit_each(transactions);
  std::size_t at = 0;
  for (const Task* task : tasks) {
    const std::size_t count = transactions_of(task->step).size();
    answer_commits(task->step, std::span(outcomes).subspan(at, count));
    at += count;
  }
}

std::size_t bytes_of(const Value& value) {
  const auto* bytes = std::get_if<Bytes>(&value);
  return bytes != nullptr ? bytes->size() : 0;
}
std::size_t bytes_of(const std::optional<Item>& item) { return item ? bytes_of(item->value) : 0; }
std::size_t bytes_of(const CommitOutcome& outcome) {
  const auto* lost = std::get_if<Lost>(&outcome);
  return lost != nullptr ? bytes_of(lost->current) : 0;
}

struct AnsweredBytes {
  std::size_t operator()(std::monostate) const { return 0; }
  std::size_t operator()(const GetStep* step) const {
    std::size_t bytes = 0;
    if (step->answer) {
      for (const std::optional<Item>& item : *step->answer) bytes += bytes_of(item);
    }
    return bytes;
  }
  std::size_t operator()(const GetOneStep* step) const {
    return step->answer ? bytes_of(*step->answer) : 0;
  }
  std::size_t operator()(const ScanStep* step) const {
    std::size_t bytes = 0;
    if (step->answer) {
      for (const Entry& entry : step->answer->entries) bytes += bytes_of(entry.item.value);
    }
    return bytes;
  }
  std::size_t operator()(const ListStep* step) const {
    std::size_t bytes = 0;
    if (step->answer) {
      for (const ListPage::Listed& listed : step->answer->items) {
        bytes += listed.key.partition.home.size() + bytes_of(listed.item.value);
      }
    }
    return bytes;
  }
  std::size_t operator()(const CommitStep* step) const {
    return step->answer ? bytes_of(*step->answer) : 0;
  }
  std::size_t operator()(const CommitEachStep* step) const {
    std::size_t bytes = 0;
    if (step->answer) {
      for (const auto& outcome : *step->answer) bytes += outcome ? bytes_of(*outcome) : 0;
    }
    return bytes;
  }
  std::size_t operator()(const JoinStep* step) const {
    return step->answer ? step->member->answered_bytes() : 0;
  }
  std::size_t operator()(const PauseStep*) const { return 0; }
  std::size_t operator()(const WaitStep*) const { return 0; }
};

}  // namespace

std::size_t answered_bytes(const Step& step) { return std::visit(AnsweredBytes{}, step); }

std::size_t written_bytes(const Step& step) {
  std::size_t bytes = 0;
  for (const std::span<Write>& writes : transactions_of(step)) {
    for (const Write& write : writes) bytes += kWriteBytes + bytes_of(write.value);
  }
  return bytes;
}

CallKind kind_of(const Step& step) {
  if (std::holds_alternative<CommitStep*>(step) || std::holds_alternative<CommitEachStep*>(step)) {
    return CallKind::commit;
  }
  const bool gets =
      std::holds_alternative<GetStep*>(step) || std::holds_alternative<GetOneStep*>(step);
  return gets ? CallKind::get : CallKind::scan;
}

std::size_t size_of(const Step& step) {
  switch (kind_of(step)) {
    case CallKind::commit: return transactions_of(step).size();
    case CallKind::get: return keys_of(step).size();
    case CallKind::scan: break;
  }
  return 1;
}

std::size_t most_in_call(CallKind kind, const Limits& limits) {
  switch (kind) {
    case CallKind::commit: return limits.commits_per_group;
    case CallKind::get: return limits.keys_per_get;
    case CallKind::scan: break;
  }
  return kScansInCall;
}

std::vector<std::uint64_t> places_of(const Step& step, const Store& store) {
  std::vector<std::uint64_t> places;
  const CallKind kind = kind_of(step);
  if (kind == CallKind::commit) {
    for (const std::span<Write>& writes : transactions_of(step)) {
      for (const Write& write : writes) places.push_back(store.place(write.key));
    }
  } else if (kind == CallKind::get) {
    for (const Key& key : keys_of(step)) places.push_back(store.place(key));
  } else if (auto* const* scan = std::get_if<ScanStep*>(&step)) {
    places.push_back(store.place({(*scan)->request->partition, 0}));
  }
  if (places.empty()) places.push_back(kWholeStore);
  std::ranges::sort(places);
  const auto repeated = std::ranges::unique(places);
  places.erase(repeated.begin(), repeated.end());
  return places;
}

void StoreCall::stamp(Entropy& entropy) const {
  if (kind != CallKind::commit) return;
  for (const Task* task : tasks) detail::stamp_each(transactions_of(task->step), entropy);
}

void StoreCall::perform(Store& store, Entropy& entropy) {
  const auto start = std::chrono::steady_clock::now();
  switch (kind) {
    case CallKind::commit: perform_commits(tasks, store); break;
    case CallKind::get: perform_gets(tasks, store, entropy); break;
    case CallKind::scan:
      for (const Task* task : tasks) detail::perform(task->step, store, entropy);
  }
  took = std::chrono::steady_clock::now() - start;
}

}  // namespace once::detail

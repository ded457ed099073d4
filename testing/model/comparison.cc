#include "testing/model/comparison.h"

#include <algorithm>

namespace once::testing {
namespace {

bool same(const Entry& a, const Entry& b) { return a.sort == b.sort && a.item == b.item; }

}  // namespace

void Comparison::run(const Command& command) {
  switch (command.kind) {
    case Command::Kind::commit: commit(command); break;
    case Command::Kind::commit_each: commit_each(command); break;
    case Command::Kind::scan: scan(command); break;
    case Command::Kind::list: list(command); break;
    case Command::Kind::sweep: RC_ASSERT(store_.sweep(command.limit * 2).has_value()); break;
    case Command::Kind::pass:
      clock_.advance(Duration(command.amount));
      model_.pass(Duration(command.amount));
      break;
  }
  RC_ASSERT(store_.now() == model_.now());
  compare_all_keys();
}

// All guards of a group are chosen before its commands run. Whether one holds depends on the
// commands before it in the group.
std::vector<Write> Comparison::writes_of(const TransactionChoice& choices) {
  std::vector<Write> writes;
  for (const WriteChoice& choice : choices) {
    const Key& key = model_keys()[choice.key];
    Value value = model_values()[choice.value];
    const bool counts = choice.kind == Write::Kind::add || choice.kind == Write::Kind::raise;
    if (counts && std::holds_alternative<Bytes>(value)) value = std::int64_t{3};
    const Guard guard = guard_of(choice, key);
    seen_.push_back(Version{seen_.size() + 1});
    writes.push_back(
        {choice.kind, guard, key, std::move(value), expiry_of(choice.expiry), seen_.back()});
  }
  return writes;
}

Guard Comparison::guard_of(const WriteChoice& choice, const Key& key) const {
  const Version earlier = seen_[choice.earlier % seen_.size()];
  switch (choice.guard) {
    case GuardChoice::anything: return anything();
    case GuardChoice::absent: return absent();
    case GuardChoice::seen_earlier: return unchanged(earlier);
    case GuardChoice::permanent: return permanent();
    case GuardChoice::current: break;
  }
  const std::optional<Item> current = model_.get(key);
  return unchanged(current ? current->version : seen_.back());
}

Time Comparison::expiry_of(ExpiryChoice choice) const {
  switch (choice) {
    case ExpiryChoice::never: return kNever;
    case ExpiryChoice::past: return model_.now();
    case ExpiryChoice::soon: return model_.now() + Duration(20);
    case ExpiryChoice::later: return model_.now() + Duration(100);
  }
  return kNever;
}

void Comparison::commit(const Command& command) {
  if (command.transactions.empty()) return;
  const std::vector<Write> writes = writes_of(command.transactions.front());
  compare(writes, store_.commit(writes));
}

void Comparison::commit_each(const Command& command) {
  std::vector<std::vector<Write>> group;
  for (const TransactionChoice& choice : command.transactions) group.push_back(writes_of(choice));
  const std::vector<Transaction> transactions(group.begin(), group.end());
  const std::vector<Result<CommitOutcome>> answers = store_.commit_each(transactions);
  RC_ASSERT(answers.size() == group.size());
  for (std::size_t i = 0; i < group.size(); ++i) compare(group[i], answers[i]);
}

void Comparison::compare(const std::vector<Write>& writes, const Result<CommitOutcome>& answer) {
  const Verdict verdict = model_.commit(writes);
  if (!answer) {
    RC_ASSERT(answer.error().code == ErrorCode::invalid);
    RC_ASSERT(verdict.may_be_invalid);
    return;
  }
  if (const Lost* lost = std::get_if<Lost>(&*answer)) {
    RC_ASSERT(verdict.lost.has_value());
    RC_ASSERT(lost->write == verdict.lost->write);
    RC_ASSERT(lost->current == verdict.lost->current);
    return;
  }
  RC_ASSERT(!verdict.lost && !verdict.may_be_invalid);
  const auto& numbers = std::get<Committed>(*answer).numbers;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (!verdict.committed.numbers[i]) continue;
    RC_ASSERT(numbers.size() == writes.size());
    RC_ASSERT(numbers[i] == verdict.committed.numbers[i]);
  }
}

void Comparison::scan(const Command& command) {
  const ScanRequest request{.partition = model_keys()[command.at].partition,
                            .first = model_bounds()[command.first],
                            .last = model_bounds()[command.last],
                            .direction = command.direction,
                            .limit = command.limit,
                            .max_bytes = command.amount + 1};
  const Result<ScanPage> page = store_.scan(request);
  RC_ASSERT(page.has_value());
  const std::vector<Entry> all =
      model_.scan(request.partition, request.first, request.last, request.direction);
  RC_ASSERT(page->entries.size() <= std::min(all.size(), request.limit));
  RC_ASSERT(all.empty() == page->entries.empty());
  RC_ASSERT(std::ranges::equal(page->entries, std::span(all).first(page->entries.size()), same));
  if (page->entries.size() < all.size()) RC_ASSERT(page->more);
  if (all.empty()) RC_ASSERT(!page->more);
}

void Comparison::list(const Command& command) {
  ListRequest request{.home_prefix = model_keys()[command.at].partition.home,
                      .limit = command.limit};
  std::map<Key, Item> found;
  do {
    const Result<ListPage> page = store_.list(request);
    RC_ASSERT(page.has_value());
    RC_ASSERT(page->items.size() <= request.limit);
    for (const ListPage::Listed& listed : page->items) found[listed.key] = listed.item;
    request.cursor = page->cursor;
  } while (!request.cursor.empty());
  RC_ASSERT(found == model_.list(request.home_prefix));
}

void Comparison::compare_all_keys() {
  const auto items = store_.get(model_keys());
  RC_ASSERT(items.has_value());
  for (std::size_t i = 0; i < model_keys().size(); ++i) {
    RC_ASSERT((*items)[i] == model_.get(model_keys()[i]));
  }
}

}  // namespace once::testing

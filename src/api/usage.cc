#include "api/usage.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "primitives/keys.h"

namespace once::api {
namespace {

constexpr std::size_t kMostSizes = 100'000;  // Of one namespace that are remembered.
constexpr std::size_t kCountedAtOnce = 1'000;
constexpr Duration kCountTurn = std::chrono::milliseconds(50);
constexpr auto kCountWork = std::chrono::milliseconds(10);  // Of each turn: a fifth of one thread.

// A count that is wanted early waits for so long, and for ten times as long as the last one took.
constexpr Duration kCountPause = std::chrono::seconds(10);
constexpr int kCountPauses = 10;

bool needs_an_item(const Guard& guard) {
  return guard.kind == Guard::Kind::unchanged || guard.kind == Guard::Kind::permanent;
}

// "acme" in "claim/acme/name".
std::string_view namespace_in(std::string_view home) {
  const std::size_t kind = home.find('/');
  if (kind == std::string_view::npos) return {};
  const std::size_t end = home.find('/', kind + 1);
  if (end == std::string_view::npos) return {};
  return home.substr(kind + 1, end - kind - 1);
}

std::size_t hash_of(const Key& key) {
  const std::hash<std::string> hash;
  std::size_t all = hash(key.partition.home);
  all = all * 31 + hash(key.partition.part);
  return all * 31 + static_cast<std::size_t>(key.sort);
}

}  // namespace

void Usage::set_tenants(const std::vector<std::shared_ptr<Tenant>>& tenants) {
  const Lock lock(mutex_);
  std::map<std::string, Counting, std::less<>> before = std::exchange(countings_, {});
  for (const auto& tenant : tenants) {
    auto known = before.extract(tenant->name());
    Counting& counting = countings_[tenant->name()];
    if (known && known.mapped().tenant == tenant) counting = std::move(known.mapped());
    counting.tenant = tenant;
  }
  for (const auto& [name, counting] : before) counting.tenant->is_counted = false;
  is_about_any_ = !tenants.empty();
}

std::uint64_t Usage::bytes_of(const Key& key, const Value& value) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  const std::size_t held = bytes != nullptr ? bytes->size() : sizeof(std::int64_t);
  return key.partition.home.size() + key.partition.part.size() + sizeof key.sort + held;
}

void Usage::add(Counting& counting, std::int64_t keys, std::int64_t bytes) {
  counting.keys += keys;
  counting.bytes += bytes;
  counting.keys_since += keys;
  counting.bytes_since += bytes;
  const auto shown = [](std::int64_t number) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
  };
  counting.tenant->keys = shown(counting.keys);
  counting.tenant->bytes = shown(counting.bytes);
}

// Where it is not known what was there before, the most that it can be is counted.
void Usage::note(Counting& counting, const Write& write) {
  if (write.kind == Write::Kind::check) return;
  const std::size_t hash = hash_of(write.key);
  const auto known = counting.sizes.find(hash);
  const bool is_known = known != counting.sizes.end();
  if (write.kind == Write::Kind::erase) {
    const bool was_there = is_known || needs_an_item(write.guard);
    add(counting, was_there ? -1 : 0, is_known ? -known->second : 0);
    if (is_known) counting.sizes.erase(known);
    return;
  }
  const auto size = static_cast<std::int64_t>(bytes_of(write.key, write.value));
  if (is_known) {
    add(counting, 0, size - known->second);
    known->second = size;
    return;
  }
  add(counting, needs_an_item(write.guard) ? 0 : 1, size);
  if (counting.sizes.size() < kMostSizes) counting.sizes.emplace(hash, size);
}

void Usage::wrote(Transaction transaction) {
  if (!is_about_any_.load(std::memory_order_relaxed)) return;
  const Lock lock(mutex_);
  for (const Write& write : transaction) {
    const auto found = countings_.find(namespace_in(write.key.partition.home));
    if (found != countings_.end()) note(found->second, write);
  }
}

void Usage::begin_count(const std::string& name_space) {
  const Lock lock(mutex_);
  const auto found = countings_.find(name_space);
  if (found == countings_.end()) return;
  Counting& counting = found->second;
  counting.keys_since = 0;
  counting.bytes_since = 0;
  // A key that expired is not known as such: what is written to it then counts as a replacement. So
  // nothing is remembered for longer than from one count to the next.
  counting.sizes.clear();
}

// What was written while it was counted may be in both: it is counted twice until the next count.
void Usage::end_count(const std::string& name_space, Found found) {
  const Lock lock(mutex_);
  const auto known = countings_.find(name_space);
  if (known == countings_.end()) return;
  Counting& counting = known->second;
  counting.keys =
      static_cast<std::int64_t>(found.keys) + std::max<std::int64_t>(0, counting.keys_since);
  counting.bytes =
      static_cast<std::int64_t>(found.bytes) + std::max<std::int64_t>(0, counting.bytes_since);
  add(counting, 0, 0);
  counting.tenant->is_counted = true;
}

Result<CommitOutcome> UsageStore::do_commit(Transaction transaction) {
  Result<CommitOutcome> outcome = inner_.commit(transaction);
  if (outcome && committed(*outcome)) usage_.wrote(transaction);
  return outcome;
}

std::vector<Result<CommitOutcome>> UsageStore::do_commit_each(
    std::span<const Transaction> transactions) {
  std::vector<Result<CommitOutcome>> outcomes = inner_.commit_each(transactions);
  for (std::size_t i = 0; i < outcomes.size() && i < transactions.size(); ++i) {
    if (outcomes[i] && committed(*outcomes[i])) usage_.wrote(transactions[i]);
  }
  return outcomes;
}

UsageCount::UsageCount(Store& store, Usage& usage,
                       const std::vector<std::shared_ptr<Tenant>>& tenants, Clock& clock,
                       Duration every)
    : store_(store),
      usage_(usage),
      clock_(clock),
      every_(every),
      tenants_(tenants),
      counting_(clock, kCountTurn, [this] { return go_on(); }) {}

void UsageCount::set_tenants(std::vector<std::shared_ptr<Tenant>> tenants) {
  const Lock lock(mutex_);
  next_tenants_ = std::move(tenants);
}

bool UsageCount::take_next_tenants() {
  const Lock lock(mutex_);
  if (!next_tenants_) return false;
  tenants_ = std::move(*std::exchange(next_tenants_, std::nullopt));
  return true;
}

bool UsageCount::is_due() {
  if (take_next_tenants() || rounds_ == 0) return true;
  const Time now = clock_.now();
  if (now >= later(ended_, every_)) return true;
  if (now < later(ended_, std::max(kCountPause, kCountPauses * took_))) return false;
  return std::ranges::any_of(tenants_,
                             [](const auto& tenant) { return tenant->wants_count.load(); });
}

// Always false: the next turn goes on.
bool UsageCount::go_on() {
  if (!under_way_) {
    if (!is_due()) return false;
    under_way_ = true;
    began_ = clock_.now();
    for (const auto& tenant : tenants_) {
      tenant->wants_count = false;
      usage_.begin_count(tenant->name());
    }
  }
  const auto until = std::chrono::steady_clock::now() + kCountWork;
  while (count_page()) {
    if (std::chrono::steady_clock::now() >= until) return false;
  }
  return false;
}

// Counts another page. False if the round has ended, or the store did not answer: then the next
// turn tries again.
bool UsageCount::count_page() {
  if (tenant_ == tenants_.size()) {
    under_way_ = false;
    tenant_ = 0;
    ended_ = clock_.now();
    took_ = ended_ - began_;
    ++rounds_;
    return false;
  }
  const std::string& name_space = tenants_[tenant_]->name();
  const std::vector<std::string> prefixes = keys::prefixes(name_space);
  const Result<ListPage> page = store_.list({prefixes[prefix_], cursor_, kCountedAtOnce});
  if (!page) return false;
  for (const ListPage::Listed& listed : page->items) {
    ++found_.keys;
    found_.bytes += Usage::bytes_of(listed.key, listed.item.value);
  }
  cursor_ = page->cursor;
  if (!cursor_.empty()) return true;
  if (++prefix_ < prefixes.size()) return true;
  usage_.end_count(name_space, found_);
  found_ = {};
  prefix_ = 0;
  ++tenant_;
  return true;
}

}  // namespace once::api

#include "api/tenants.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "wire/problem.h"

namespace once::api {
namespace {

using metrics::Exposition;
using metrics::Labels;
using Type = Exposition::Type;

constexpr double kSecond = 1e9;                          // In nanoseconds.
constexpr Duration kComeBack = std::chrono::seconds(5);  // To what is full.
constexpr std::string_view kOther = "other";

TenantResult result_of(int status) {
  if (status >= 500) return TenantResult::failed;
  return status >= 400 ? TenantResult::refused : TenantResult::ok;
}

Response over_quota(Tenant& tenant, QuotaRefusal why, std::string_view detail, Duration wait) {
  tenant.refused(why);
  return Problem(Code::overloaded, detail).status(429).retry_after(wait).finish();
}

// A namespace and what was counted of it.
struct Counted {
  std::string_view name;
  std::span<const std::uint64_t> counts;
};

void write_counts(Exposition& out, std::span<const Counted> rows) {
  out.family(
      "once_namespace_requests_total",
      "Requests of a namespace, by what came of them: the 100 busiest namespaces, and other.",
      Type::counter);
  for (const Counted& row : rows) {
    for (std::size_t i = 0; i < kTenantResults.size(); ++i) {
      out.sample({{"namespace", row.name}, {"result", kTenantResults[i]}}, row.counts[i]);
    }
  }
  out.family(
      "once_namespace_refused_total",
      "Requests of a namespace that its quota, or its share of the server's memory, refused.",
      Type::counter);
  for (const Counted& row : rows) {
    for (std::size_t i = 0; i < kQuotaRefusals.size(); ++i) {
      out.sample({{"namespace", row.name}, {"reason", kQuotaRefusals[i]}},
                 row.counts[kTenantResults.size() + i]);
    }
  }
}

using TenantsShown = std::span<const std::shared_ptr<Tenant>>;

void write_held(Exposition& out, TenantsShown tenants) {
  out.family("once_namespace_held_bytes",
             "Bytes of large bodies and of unsent answers that requests of a namespace hold.",
             Type::gauge);
  for (const auto& tenant : tenants) {
    out.sample({{"namespace", tenant->name()}, {"of", "bodies"}},
               static_cast<double>(tenant->bodies.load()));
    out.sample({{"namespace", tenant->name()}, {"of", "answers"}},
               static_cast<double>(tenant->unsent.load()));
  }
}

void write_quotas(Exposition& out, TenantsShown tenants) {
  out.family("once_namespace_quota", "What a namespace may have, and do in a second.", Type::gauge);
  for (const auto& tenant : tenants) {
    const Quota& quota = tenant->quota();
    const auto sample = [&](std::string_view of, double value) {
      out.sample({{"namespace", tenant->name()}, {"of", of}}, value);
    };
    if (quota.keys) sample("keys", static_cast<double>(*quota.keys));
    if (quota.bytes) sample("bytes", static_cast<double>(*quota.bytes));
    if (quota.requests_per_second) sample("requests_per_second", *quota.requests_per_second);
  }
}

// A namespace and what it has in the store.
struct StoredRow {
  std::string_view name;
  Stored stored;
};

void write_stored(Exposition& out, std::span<const StoredRow> rows) {
  out.family("once_namespace_used",
             "What a namespace has in the store, as far as it is known: the 100 busiest "
             "namespaces, and other.",
             Type::gauge);
  for (const StoredRow& row : rows) {
    out.sample({{"namespace", row.name}, {"of", "keys"}}, static_cast<double>(row.stored.keys));
    out.sample({{"namespace", row.name}, {"of", "bytes"}}, static_cast<double>(row.stored.bytes));
  }
}

}  // namespace

TokenBucket::TokenBucket(double per_second)
    : period_(std::max<std::int64_t>(1, std::llround(kSecond / per_second))),
      burst_(std::max(period_, static_cast<std::int64_t>(kSecond))) {}

std::optional<std::chrono::nanoseconds> TokenBucket::take(Instant now) {
  std::int64_t next = next_.load(std::memory_order_relaxed);
  while (true) {
    const std::int64_t after = std::max(next, now.count()) + period_;
    const std::int64_t ahead = after - now.count();
    if (ahead > burst_) return std::chrono::nanoseconds(ahead - burst_);
    if (next_.compare_exchange_weak(next, after, std::memory_order_relaxed)) return std::nullopt;
  }
}

Tenant::Tenant(std::string name, Quota quota) : name_(std::move(name)) { set_quota(quota); }

void Tenant::set_quota(const Quota& quota) {
  all_limits_.push_back(std::make_unique<Limits>(quota));
  limits_ = all_limits_.back().get();
}

void Tenant::answered(int status) { results_[static_cast<std::size_t>(result_of(status))].add(); }

Tenant::Counts Tenant::counts() const {
  Counts counts{};
  for (std::size_t i = 0; i < results_.size(); ++i) counts[i] = results_[i].value();
  for (std::size_t i = 0; i < refusals_.size(); ++i) {
    counts[results_.size() + i] = refusals_[i].value();
  }
  return counts;
}

std::optional<Response> refusal_by_quota(Tenant& tenant, bool adds, std::size_t body,
                                         TokenBucket::Instant now) {
  if (const auto wait = tenant.take_turn(now)) {
    return over_quota(tenant, QuotaRefusal::requests,
                      "the namespace makes more requests than its quota allows",
                      std::chrono::ceil<Duration>(*wait));
  }
  if (!adds || !tenant.quota().counts_items()) return std::nullopt;
  const Quota& quota = tenant.quota();
  if (quota.keys && tenant.keys.load() >= *quota.keys) {
    tenant.wants_count = true;
    return over_quota(tenant, QuotaRefusal::keys,
                      "the namespace has as many keys as its quota allows", kComeBack);
  }
  if (quota.bytes && tenant.bytes.load() + body >= *quota.bytes) {
    tenant.wants_count = true;
    return over_quota(tenant, QuotaRefusal::bytes,
                      "the namespace has as many bytes as its quota allows", kComeBack);
  }
  return std::nullopt;
}

Tenants::Tenants(Quotas quotas, metrics::Registry& registry)
    : rest_(std::make_shared<Tenant>(std::string(kOther), quota_of(quotas, kOther))),
      quotas_(std::move(quotas)),
      collecting_(registry, [this](Exposition& out) { write(out); }) {
  const Lock lock(mutex_);
  add_those_with_quotas();
}

void Tenants::add_those_with_quotas() {
  for (const auto& [name, quota] : quotas_) {
    if (name != kAnyNamespace && !table_.contains(name)) add(name);
  }
}

std::shared_ptr<Tenant> Tenants::find(std::string_view name_space) {
  const Lock lock(mutex_);
  const auto found = table_.find(name_space);
  if (found != table_.end()) return found->second;
  if (table_.size() >= kMost + quotas_.size() && !make_room()) return rest_;
  return add(name_space);
}

Quota Tenants::quota_of(const Quotas& quotas, std::string_view name_space) {
  auto quota = quotas.find(name_space);
  if (quota == quotas.end()) quota = quotas.find(kAnyNamespace);
  return quota != quotas.end() ? quota->second : Quota{};
}

std::set<std::string> Tenants::names() const {
  std::set<std::string> names;
  const Lock lock(mutex_);
  for (const auto& [name, tenant] : table_) names.insert(name);
  if (!stored_) return names;
  for (const auto& [name, stored] : stored_->by_name) names.insert(name);
  return names;
}

std::vector<std::shared_ptr<Tenant>> Tenants::counted() const {
  std::vector<std::shared_ptr<Tenant>> counted;
  const Lock lock(mutex_);
  for (const auto& [name, quota] : quotas_) {
    const auto found = table_.find(name);
    if (quota.counts_items() && found != table_.end()) counted.push_back(found->second);
  }
  return counted;
}

void Tenants::set_quotas(Quotas fresh) {
  const Lock lock(mutex_);
  quotas_ = std::move(fresh);
  for (const auto& [name, tenant] : table_) {
    const Quota quota = quota_of(quotas_, name);
    if (!(quota == tenant->quota())) tenant->set_quota(quota);
  }
  add_those_with_quotas();
  rest_->set_quota(quota_of(quotas_, kOther));
}

std::shared_ptr<Tenant> Tenants::add(std::string_view name_space) {
  auto tenant = std::make_shared<Tenant>(std::string(name_space), quota_of(quotas_, name_space));
  if (named_ < kNamed && name_space != kOther) {
    tenant->is_named_ = true;
    ++named_;
  }
  table_.emplace(name_space, tenant);
  return tenant;
}

// Forgets the namespace that did least of late, of those that nothing refers to.
bool Tenants::make_room() {
  auto least = table_.end();
  for (auto at = table_.begin(); at != table_.end(); ++at) {
    if (at->second.use_count() > 1 || quotas_.contains(at->first)) continue;
    const auto busy = [](const Tenant& tenant) {
      return tenant.recent_ + tenant.answers() - tenant.seen_;
    };
    if (least == table_.end() || busy(*at->second) < busy(*least->second)) least = at;
  }
  if (least == table_.end()) return false;
  if (least->second->is_named_) {
    --named_;
  } else {
    count_as_other(*least->second);
  }
  table_.erase(least);
  return true;
}

void Tenants::count_as_other(Tenant& tenant) {
  const Tenant::Counts now = tenant.counts();
  for (std::size_t i = 0; i < now.size(); ++i) others_[i] += now[i] - tenant.base_[i];
  tenant.base_ = now;
}

// The busiest have a series of their own. A series begins at 0 when a namespace gets it, and ends
// when it loses it, so that no number ever falls.
void Tenants::choose_named() {
  std::vector<Tenant*> all;
  for (const auto& [name, tenant] : table_) {
    const std::uint64_t answers = tenant->answers();
    tenant->recent_ = tenant->recent_ / 2 + answers - tenant->seen_;
    tenant->seen_ = answers;
    if (!tenant->is_named_) count_as_other(*tenant);
    if (name != kOther) all.push_back(tenant.get());
  }
  const std::size_t most = std::min(kNamed, all.size());
  // One that has a series loses it only to one that is twice as busy.
  const auto busier = [](const Tenant* a, const Tenant* b) {
    const auto weight = [](const Tenant* t) {
      return t->is_named_ ? 2 * t->recent_ + 1 : t->recent_;
    };
    return weight(a) > weight(b);
  };
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(most), busier);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->is_named_ == (i < most)) continue;
    all[i]->is_named_ = i < most;
    all[i]->base_ = all[i]->counts();
  }
  named_ = most;
}

void Tenants::write(Exposition& out) {
  const Lock lock(mutex_);
  choose_named();
  std::vector<std::shared_ptr<Tenant>> named;
  std::vector<Tenant::Counts> counts;
  for (const auto& [name, tenant] : table_) {
    if (!tenant->is_named_) continue;
    named.push_back(tenant);
    counts.push_back(tenant->counts());
    for (std::size_t i = 0; i < counts.back().size(); ++i) counts.back()[i] -= tenant->base_[i];
  }
  std::vector<Counted> rows;
  for (std::size_t i = 0; i < named.size(); ++i) rows.push_back({named[i]->name(), counts[i]});
  count_as_other(*rest_);
  rows.push_back({kOther, others_});
  write_counts(out, rows);
  write_held(out, named);
  write_quotas(out, named);
  std::vector<StoredRow> stored;
  Stored others = stored_ ? stored_->all : Stored{};
  for (const auto& tenant : named) {
    if (const auto has = stored_by(*tenant, tenant->name()))
      stored.push_back({tenant->name(), *has});
    if (!stored_) continue;
    const auto counted = stored_->by_name.find(tenant->name());
    if (counted == stored_->by_name.end()) continue;
    others.keys -= counted->second.keys;
    others.bytes -= counted->second.bytes;
  }
  if (stored_) stored.push_back({kOther, others});
  write_stored(out, stored);
}

// Empty if it was not counted yet.
std::optional<Stored> Tenants::stored_by(const Tenant& tenant, std::string_view name) const {
  if (tenant.is_counted) return Stored{tenant.keys.load(), tenant.bytes.load()};
  if (!stored_ || tenant.quota().counts_items()) return std::nullopt;
  const auto found = stored_->by_name.find(name);
  return found != stored_->by_name.end() ? found->second : Stored{};
}

void Tenants::set_stored(StoredByNamespace stored) {
  const Lock lock(mutex_);
  stored_ = std::move(stored);
}

std::string Tenants::page_of(std::string_view name_space) {
  const std::array<std::shared_ptr<Tenant>, 1> one = {find(name_space)};
  const Tenant::Counts counts = one[0]->counts();
  const std::array<Counted, 1> rows = {Counted{name_space, counts}};
  Exposition out;
  write_counts(out, rows);
  write_held(out, one);
  write_quotas(out, one);
  std::vector<StoredRow> stored;
  const Lock lock(mutex_);
  if (const auto has = stored_by(*one[0], name_space)) stored.push_back({name_space, *has});
  write_stored(out, stored);
  return out.take();
}

}  // namespace once::api

#include "api/store_walk.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/usage.h"
#include "once/blocking_driver.h"
#include "primitives/keys.h"
#include "primitives/log_tidy.h"

namespace once::api {
namespace {

constexpr std::size_t kWalkedAtOnce = 500;
constexpr Duration kWalkTurn = std::chrono::milliseconds(50);
constexpr auto kWalkWork = std::chrono::milliseconds(2);  // Of each turn: 4 % of one thread.

constexpr Duration kFirstShared = std::chrono::hours(1);
constexpr Duration kPauseShared = std::chrono::hours(24);

// Beyond so many, the rest is counted together.
constexpr std::size_t kMostNamespaces = 10'000;

}  // namespace

StoreWalk::Pauses StoreWalk::pauses(const Limits& limits, Duration owned) {
  if (limits.calls_in_flight > 1) return {kFirstShared, std::max(kPauseShared, owned)};
  return {Duration::zero(), owned};
}

StoreWalk::StoreWalk(Store& store, Tenants& tenants, metrics::Registry& registry, Clock& clock,
                     Pauses pauses)
    : store_(store),
      tenants_(tenants),
      clock_(clock),
      pause_(pauses.later),
      due_(later(clock.now(), pauses.first)),
      collecting_(registry, [this](metrics::Exposition& out) { write(out); }),
      walking_(clock, kWalkTurn, [this] { return go_on(); }) {}

// Always false: the next turn goes on, also after an error.
bool StoreWalk::go_on() {
  if (!under_way_ && clock_.now() < due_) return false;
  under_way_ = true;
  const auto until = std::chrono::steady_clock::now() + kWalkWork;
  while (step()) {
    if (std::chrono::steady_clock::now() >= until) return false;
  }
  return false;
}

// False if the walk has ended, or the store did not answer.
bool StoreWalk::step() {
  if (!untidy_.empty()) return tidy_next();
  if (!at_end_) return look_at_page();
  finish();
  return false;
}

// A log that cannot be tidied is left to the next walk.
bool StoreWalk::tidy_next() {
  const Result<bool> more = BlockingDriver(store_, clock_).run(logs::tidy(untidy_.front()));
  if (!more || !*more) untidy_.pop_front();
  return more.has_value();
}

bool StoreWalk::look_at_page() {
  const Result<ListPage> page = store_.list({"", cursor_, kWalkedAtOnce});
  if (!page) return false;
  const Time now = store_.now();
  untidy_names_.clear();
  for (const ListPage::Listed& listed : page->items) take(listed, now);
  cursor_ = page->cursor;
  at_end_ = cursor_.empty();
  return true;
}

void StoreWalk::take(const ListPage::Listed& listed, Time now) {
  const std::string& home = listed.key.partition.home;
  if (!keys::is_home(home) || home.starts_with(keys::kTokens)) return;
  const std::string_view name = keys::name_space_in(home);
  auto stored = found_.by_name.find(name);
  if (stored == found_.by_name.end() && found_.by_name.size() < kMostNamespaces) {
    stored = found_.by_name.emplace(name, Stored{}).first;
  }
  const Stored one{1, Usage::bytes_of(listed.key, listed.item.value)};
  if (stored != found_.by_name.end()) stored->second += one;
  found_.all += one;
  // Each strategy has a log of its own.
  const std::string log = home + '/' + listed.key.partition.part.substr(0, 1);
  if (untidy_names_.contains(log)) return;
  std::optional<logs::Stream> untidy = logs::untidy_log(listed, now, store_.limits().clock_error);
  if (!untidy) return;
  untidy_names_.insert(log);
  untidy_.push_back(std::move(*untidy));
}

void StoreWalk::finish() {
  tenants_.set_stored(std::exchange(found_, {}));
  at_end_ = false;
  under_way_ = false;
  const Time now = clock_.now();
  due_ = later(now, pause_);
  const Lock lock(mutex_);
  ended_ = now;
}

void StoreWalk::write(metrics::Exposition& out) const {
  out.family("once_namespace_used_age_seconds",
             "How long ago it was counted what namespaces have in the store.",
             metrics::Exposition::Type::gauge);
  const Lock lock(mutex_);
  if (ended_) out.sample({}, std::chrono::duration<double>(clock_.now() - *ended_).count());
}

}  // namespace once::api

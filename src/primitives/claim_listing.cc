// Listings of claims, and what is done to many of them at once.
#include <algorithm>

#include "once/claims.h"
#include "primitives/claim_state.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/listing.h"
#include "primitives/recorded.h"

namespace once::claims {
namespace {

using State = ClaimRecord::State;

// The failure of an attempt whose claim was made free without its ticket. JSON.
constexpr const char* kReleased = "\"released by an operator\"";

Result<void> check_filter(const ClaimFilter& filter) {
  if (filter.older_than && *filter.older_than < Duration::zero()) {
    return failure(ErrorCode::invalid, "older_than is 0s or more");
  }
  return keys::check_prefix(filter.prefix);
}

Time end_of(const ClaimState& state) {
  using Kind = ClaimState::Kind;
  const bool busy = state.kind == Kind::busy || state.kind == Kind::abandoned;
  return busy ? state.lease_until : state.completed;
}

// The prefix is not looked at.
bool is_meant(const ClaimFilter& filter, const ClaimState& state, Time now) {
  if (filter.kind && state.kind != *filter.kind) return false;
  if (!filter.owner.empty() && state.owner != filter.owner) return false;
  if (!filter.older_than) return true;
  return state.kind != ClaimState::Kind::corrupt && now - end_of(state) >= *filter.older_than;
}

// What a bulk operation makes of a record; nothing if it leaves the claim alone.
using Change = std::function<Result<std::optional<ClaimRecord>>(const Item& item, Time now)>;

struct Selected {
  Key key;
  Item item;
};

// The claim is still meant, as it is now.
Result<bool> is_selected(const ClaimFilter& filter, const Item& item, Time now,
                         Duration clock_error) {
  const Result<std::optional<ClaimState>> state = state_in(item, now, clock_error);
  if (!state) return std::unexpected(state.error());
  return *state && is_meant(filter, **state, now);
}

// What is to be written in place of a claim that is meant; nothing if it is no longer.
Result<std::optional<Write>> next_write(const Selected& one, const ClaimFilter& filter,
                                        const Change& change, Time now, Duration clock_error) {
  const Result<bool> selected = is_selected(filter, one.item, now, clock_error);
  if (!selected) return std::unexpected(selected.error());
  if (!*selected) return std::nullopt;
  const Result<std::optional<ClaimRecord>> changed = change(one.item, now);
  if (!changed) return std::unexpected(changed.error());
  if (!*changed) return std::nullopt;
  return put(one.key, encode(**changed), unchanged(one.item.version), expiry_of(**changed, now));
}

// Changes one claim, however often it changes meanwhile. False if it is not meant any more.
Plan<bool> change_one(Selected one, ClaimFilter filter, Change change, Recording recording) {
  const Limits* const limits = co_await store_limits();
  for (;;) {
    const Time now = co_await store_now();
    Result<std::optional<Write>> write = next_write(one, filter, change, now, limits->clock_error);
    if (!write) co_return std::unexpected(write.error());
    if (!*write) co_return false;
    const CommitOutcome outcome = co_await commit_recorded(**write, recording);
    if (committed(outcome)) co_return true;
    const std::optional<Item>& current = std::get<Lost>(outcome).current;
    if (!current) co_return false;
    one.item = *current;
  }
}

// `unavailable` would mean that nothing was written.
Error error_of_step(Error error, std::size_t changed) {
  if (changed > 0 && error.code == ErrorCode::unavailable) error.code = ErrorCode::unknown;
  return error;
}

// The same after a first try had this outcome.
Plan<bool> finish_change(Write write, Result<CommitOutcome> outcome, ClaimFilter filter,
                         Change change, Recording recording) {
  const bool unknown = !recording && !outcome && outcome.error().code == ErrorCode::unknown;
  if (unknown) outcome = co_await attempt(resolve_commit(write));
  if (!outcome) co_return std::unexpected(std::move(outcome.error()));
  if (committed(*outcome)) co_return true;
  std::optional<Item>& current = std::get<Lost>(*outcome).current;
  if (!current) co_return false;
  Selected again{write.key, std::move(*current)};
  co_return co_await change_one(std::move(again), std::move(filter), std::move(change),
                                std::move(recording));
}

// Changes all of them: in rounds of the store, and those that changed meanwhile one by one.
Plan<std::size_t> change_each(std::vector<Selected> selected, ClaimFilter filter, Change change,
                              Recording recording) {
  const Limits* const limits = co_await store_limits();
  const Time now = co_await store_now();
  std::vector<Write> writes;
  for (const Selected& one : selected) {
    Result<std::optional<Write>> write = next_write(one, filter, change, now, limits->clock_error);
    if (!write) co_return std::unexpected(write.error());
    if (*write) writes.push_back(std::move(**write));
  }
  std::size_t changed = 0;
  std::vector<Result<CommitOutcome>> outcomes = co_await commit_each_recorded(writes, recording);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Result<bool> done = co_await attempt(
        finish_change(writes[i], std::move(outcomes[i]), filter, change, recording));
    if (!done) co_return std::unexpected(error_of_step(done.error(), changed));
    changed += *done ? 1 : 0;
  }
  co_return changed;
}

Result<void> check_bulk(const BulkRequest& request) {
  if (request.limit < 1 || request.limit > kMaxPage) {
    return failure(ErrorCode::invalid, "limit is 1 to 10000");
  }
  const ClaimFilter& filter = request.filter;
  if (filter.prefix.empty() && !filter.kind && !filter.older_than && request.name.empty()) {
    return failure(ErrorCode::invalid,
                   "it needs a prefix, a state or older_than: all claims are never meant");
  }
  return check_filter(filter);
}

Plan<BulkOutcome> in_bulk(std::string name_space, BulkRequest request, Change change,
                          Recording recording) {
  if (const Result<void> ok = check_bulk(request); !ok) co_return std::unexpected(ok.error());
  const Limits* const limits = co_await store_limits();
  std::vector<Selected> selected;
  BulkOutcome outcome;
  const IsFound is_found = [&](ListPage::Listed& listed, Time now) -> Result<bool> {
    const Result<bool> meant = is_selected(request.filter, listed.item, now, limits->clock_error);
    if (!meant || !*meant) return meant;
    const Result<std::optional<ClaimRecord>> changed = change(listed.item, now);
    if (!changed) return std::unexpected(changed.error());
    if (!*changed) return false;
    ++outcome.count;
    if (!request.dry_run) selected.push_back({listed.key, std::move(listed.item)});
    return true;
  };
  if (!request.name.empty()) {
    const Key key = keys::claim(name_space, request.name);
    std::optional<Item> item = co_await get(key);
    const Time now = co_await store_now();
    if (item) {
      ListPage::Listed listed{key, std::move(*item)};
      const Result<bool> found = is_found(listed, now);
      if (!found) co_return std::unexpected(found.error());
    }
  } else {
    WalkRequest walking{keys::claim_prefix(name_space) + request.filter.prefix, request.cursor,
                        request.limit};
    outcome.cursor = co_await walk(std::move(walking), is_found);
  }
  if (!request.dry_run && !selected.empty()) {
    outcome.count = co_await change_each(std::move(selected), request.filter, change, recording);
  }
  co_return std::move(outcome);
}

}  // namespace

Plan<ClaimPage> list(std::string name_space, ClaimFilter filter, std::string cursor,
                     std::size_t limit) {
  if (const Result<void> ok = check_filter(filter); !ok) co_return std::unexpected(ok.error());
  const Limits* limits = co_await store_limits();
  ClaimPage page;
  const IsFound is_found = [&](ListPage::Listed& listed, Time now) -> Result<bool> {
    Result<std::optional<ClaimState>> state = state_in(listed.item, now, limits->clock_error);
    if (!state) return std::unexpected(std::move(state.error()));
    if (!*state || !is_meant(filter, **state, now)) return false;
    page.claims.push_back(
        {std::string(keys::name_in(listed.key.partition.home)), std::move(**state)});
    return true;
  };
  WalkRequest request{keys::claim_prefix(name_space) + filter.prefix, std::move(cursor), limit};
  page.cursor = co_await walk(std::move(request), is_found);
  co_return std::move(page);
}

Plan<AbandonedPage> list_abandoned(std::string cursor) {
  const Limits* limits = co_await store_limits();
  AbandonedPage page;
  const IsFound is_found = [&](ListPage::Listed& listed, Time now) -> Result<bool> {
    const Result<std::optional<ClaimState>> state = state_in(listed.item, now, limits->clock_error);
    if (!state || !*state || (*state)->kind != ClaimState::Kind::abandoned) return false;
    const std::string& home = listed.key.partition.home;
    page.claims.push_back({std::string(keys::name_space_in(home)), std::string(keys::name_in(home)),
                           (*state)->owner, (*state)->lease_until});
    return true;
  };
  WalkRequest request{std::string(keys::kClaims), std::move(cursor), kMaxExamined};
  page.cursor = co_await walk(std::move(request), is_found);
  co_return std::move(page);
}

Plan<BulkOutcome> forget_all(std::string name_space, BulkRequest request) {
  return forget_all(std::move(name_space), std::move(request), Recording{});
}

Plan<BulkOutcome> forget_all(std::string name_space, BulkRequest request, Recording recording) {
  const Change blank = [](const Item& item, Time now) -> Result<std::optional<ClaimRecord>> {
    Result<ClaimRecord> left = blank_after(decode_claim(item), now);
    if (!left) return std::unexpected(std::move(left.error()));
    return std::move(*left);
  };
  co_return co_await in_bulk(std::move(name_space), std::move(request), blank, recording);
}

Plan<BulkOutcome> retry_all(std::string name_space, BulkRequest request) {
  return retry_all(std::move(name_space), std::move(request), Recording{});
}

// No ticket is good for what was made free: its holder had given up.
Plan<BulkOutcome> retry_all(std::string name_space, BulkRequest request, Recording recording) {
  const Change free = [](const Item& item, Time) -> Result<std::optional<ClaimRecord>> {
    Result<ClaimRecord> record = decode_claim(item);
    if (!record || record->state != State::failed) return std::nullopt;
    record->state = State::free;
    record->nonce = 0;
    record->request.clear();
    record->payload_hash.clear();
    record->receipt.clear();
    return std::move(*record);
  };
  co_return co_await in_bulk(std::move(name_space), std::move(request), free, recording);
}

Plan<BulkOutcome> release_all(std::string name_space, BulkRequest request) {
  return release_all(std::move(name_space), std::move(request), Recording{});
}

// The nonce is gone from the record, so the ticket of its holder is for another claim.
Plan<BulkOutcome> release_all(std::string name_space, BulkRequest request, Recording recording) {
  const Change free = [](const Item& item, Time now) -> Result<std::optional<ClaimRecord>> {
    Result<ClaimRecord> record = decode_claim(item);
    if (!record || record->state != State::busy) return std::nullopt;
    ClaimRecord left = with_outcome(std::move(*record), State::free, kReleased, now);
    left.nonce = 0;
    left.request.clear();
    left.payload_hash.clear();
    return left;
  };
  co_return co_await in_bulk(std::move(name_space), std::move(request), free, recording);
}

}  // namespace once::claims

// seen(): the one-shot form of a claim. A seen id is a done claim without a result.
#include <algorithm>
#include <map>

#include "once/claims.h"
#include "primitives/claim_record.h"
#include "primitives/landing.h"

namespace once::claims {
namespace {

using State = ClaimRecord::State;

// How one id was found: marked by us, by an equal request before, or by another.
enum class Found : std::uint8_t { first, again, taken };

struct Mark {
  Duration ttl;
  std::string request;

  ClaimRecord record_after(const ClaimRecord* last, Time now) const {
    const std::int64_t past_fence = last != nullptr ? last->fence + 1 : 1;
    return {.state = State::done,
            .fence = std::max<std::int64_t>(past_fence, now.time_since_epoch().count()),
            .attempt = 1,
            .request = request,
            .ttl = ttl,
            .claimed = now,
            .completed = now,
            .kept_until = later(now, ttl)};
  }

  Write write_on(const Key& key, const std::optional<Item>& standing, const ClaimRecord* last,
                 Time now) const {
    const ClaimRecord record = record_after(last, now);
    const Guard guard = standing ? unchanged(standing->version) : absent_lasting();
    return put(key, encode(record), guard, expiry_of(record, now));
  }
};

// What a lost mark lost to; nothing if the key may be marked all the same, because what it held is
// not remembered any more.
std::optional<Found> found_as(const ClaimRecord& record, const Mark& mark, Time now) {
  if (record.state == State::busy) return Found::taken;
  if (record.state == State::free || now >= record.kept_until) return std::nullopt;
  const bool ours = !mark.request.empty() && record.request == mark.request;
  return ours ? Found::again : Found::taken;
}

// Marks one key whose first try came to this outcome.
Plan<Found> mark_one(Write write, Result<CommitOutcome> outcome, Mark mark) {
  const bool unknown = !outcome && outcome.error().code == ErrorCode::unknown;
  if (unknown) outcome = co_await attempt(land_again(write));
  for (;;) {
    if (!outcome) co_return std::unexpected(std::move(outcome.error()));
    if (committed(*outcome)) co_return Found::first;
    const std::optional<Item> standing = std::get<Lost>(*outcome).standing;
    const Time now = co_await store_now();
    std::optional<ClaimRecord> last;
    if (standing) {
      Result<ClaimRecord> record = decode_claim(standing->value);
      if (!record) co_return std::unexpected(std::move(record.error()));
      const std::optional<Found> found = found_as(*record, mark, now);
      if (found) co_return *found;
      last = std::move(*record);
    }
    write = mark.write_on(write.key, standing, last ? &*last : nullptr, now);
    outcome = co_await attempt(land(write));
  }
}

constexpr std::size_t kMaxIds = 10'000;
constexpr Duration kMaxTtl = std::chrono::years(10);

Result<void> check_marks(std::size_t ids, const Mark& mark) {
  if (ids > kMaxIds) return failure(ErrorCode::invalid, "at most 10000 ids at once");
  if (mark.request.size() > kMaxLabel) {
    return failure(ErrorCode::invalid, "a request has at most 512 bytes");
  }
  if (mark.ttl < Duration::zero() || mark.ttl > kMaxTtl) {
    return failure(ErrorCode::invalid, "a ttl is 0 to 10 years");
  }
  return {};
}

// `unavailable` says that nothing was written, which is not so once an id is marked.
Error stopped_at(Error error, bool marked) {
  if (marked && error.code == ErrorCode::unavailable) error.code = ErrorCode::unknown;
  return error;
}

}  // namespace

Plan<std::vector<bool>> seen(std::vector<Key> keys, Duration ttl, std::string request) {
  Mark mark{ttl, std::move(request)};
  const Result<void> ok = check_marks(keys.size(), mark);
  if (!ok) co_return std::unexpected(ok.error());
  const Time now = co_await store_now();
  std::map<Key, std::size_t> distinct;
  std::vector<bool> first(keys.size(), false);
  std::vector<Write> writes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!distinct.emplace(keys[i], i).second) continue;
    writes.push_back(mark.write_on(keys[i], std::nullopt, nullptr, now));
  }
  std::vector<std::span<Write>> each;
  for (Write& write : writes) each.emplace_back(&write, 1);
  std::vector<Result<CommitOutcome>> outcomes = co_await commit_each(each);
  bool marked = std::ranges::any_of(outcomes, [](const Result<CommitOutcome>& outcome) {
    return outcome && committed(*outcome);
  });
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Result<Found> found = co_await attempt(mark_one(writes[i], std::move(outcomes[i]), mark));
    if (!found) co_return std::unexpected(stopped_at(found.error(), marked));
    marked = marked || *found == Found::first;
    first[distinct.at(writes[i].key)] = *found != Found::taken;
  }
  co_return std::move(first);
}

}  // namespace once::claims

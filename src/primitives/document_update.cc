// Changing a document without knowing what stands there.
#include <algorithm>

#include "once/documents.h"
#include "primitives/document_updating.h"
#include "primitives/keys.h"
#include "primitives/landing.h"

namespace once::documents {
namespace {

constexpr int kPlainAttempts = 4;
constexpr Duration kPlainBase{100};
constexpr Duration kDeadline = std::chrono::seconds(10);
constexpr std::size_t kMaxEtags = 16;

Result<UpdateOutcome> updated(const std::optional<Item>& standing, bool replayed) {
  Result<DocumentRecord> record = decode_document(standing);
  if (!record) return std::unexpected(std::move(record.error()));
  const Version version = standing ? standing->version : Version{};
  return Updated{document_in(std::move(*record), version), replayed};
}

// Once the change turned out to be in the store, or to be refused for good.
Result<UpdateOutcome> answer_for(Came came, const std::optional<Item>& standing) {
  if (came == Came::mismatch) return Mismatch{};
  if (came == Came::missing) return NotFound{};
  return updated(standing, came == Came::replayed);
}

// The change has a marker, and whether it was made only that can tell: then the answer, else
// nothing.
Plan<std::optional<UpdateOutcome>> answer_by_marker(Call call) {
  const Key key = call.key;
  const Earlier earlier = co_await find_marker(std::move(call));
  if (earlier == Earlier::no) co_return std::optional<UpdateOutcome>();
  const std::optional<Item> standing = co_await once::get(key);
  Result<UpdateOutcome> answer = answer_for(came_by(earlier), standing);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(*answer);
}

// How often and how long a change is tried.
class Tries {
 public:
  Tries(Key key, bool adaptive, Contention& contention, Time start)
      : key_(std::move(key)),
        adaptive_(adaptive),
        contention_(contention),
        deadline_(later(start, kDeadline)) {}

  // The longest pause before the next try; nothing when there is to be none.
  std::optional<Duration> after_conflict(Time now, std::optional<std::string> etag) {
    ++conflicts_;
    if (etag) etags_.push_back(std::move(*etag));
    if (etags_.size() > kMaxEtags) etags_.erase(etags_.begin());
    if (is_over(now) || (!adaptive_ && conflicts_ >= kPlainAttempts)) return std::nullopt;
    const Duration bound = adaptive_ ? contention_.conflicted(key_, conflicts_, now)
                                     : kPlainBase * (1 << (conflicts_ - 1));
    return std::min(bound, deadline_ - now);
  }

  void succeeded() { contention_.succeeded(key_, conflicts_); }
  bool is_over(Time now) const { return now >= deadline_; }
  int conflicts() const { return conflicts_; }

  Contended contended() const {
    return {std::string(keys::name_in(key_.partition.home)), etags_, conflicts_};
  }

 private:
  const Key key_;
  const bool adaptive_;
  Contention& contention_;
  const Time deadline_;
  int conflicts_ = 0;
  std::vector<std::string> etags_;
};

// Sends the change again, alone, under the very guard of the commit whose reply was lost: only one
// of the two can land.
Plan<UpdateOutcome> land_again(Updating& updating, std::optional<Item> base) {
  Result<Edit> edit = updating.apply(base);
  Replace* replace = edit ? std::get_if<Replace>(&*edit) : nullptr;
  if (replace == nullptr) co_return doubt();
  Write write = once::put(updating.call().key, std::move(replace->value),
                          base ? unchanged(base->version) : absent(), replace->expiry);
  const Result<CommitOutcome> outcome = co_await attempt(land(write));
  if (!outcome) co_return doubt();
  if (committed(*outcome)) co_return updated(Item{write.value, write.version, write.expiry}, false);
  const std::optional<Item>& standing = std::get<Lost>(*outcome).standing;
  const Result<DocumentRecord> record = decode_document(standing);
  if (record && updating.made_in(standing, *record)) co_return updated(standing, false);
  co_return doubt();
}

// A change without an id whose reply was lost: found by its stamp, or still to be made (H7).
Plan<UpdateOutcome> find_out(Updating& updating, Tries& tries) {
  for (int retry = 0;; ++retry) {
    co_await back_off(retry);
    Result<std::optional<Item>> standing = co_await attempt(once::get(updating.call().key));
    const Time now = co_await store_now();
    if (!standing && !tries.is_over(now)) continue;
    if (!standing) co_return doubt();
    const Result<DocumentRecord> record = decode_document(*standing);
    if (record && updating.made_in(*standing, *record)) co_return updated(*standing, false);
    if (!record || !updating.applied_to(*standing, *record)) co_return doubt();
    co_return co_await land_again(updating, std::move(*standing));
  }
}

// Whether the change could not be applied to what stands there.
bool is_refusal(Came came, const Result<ChangeOutcome>& outcome) {
  if (outcome) return false;
  const ErrorCode code = outcome.error().code;
  return came == Came::failed || (code != ErrorCode::unknown && code != ErrorCode::unavailable);
}

// The answer to one try, or nothing if there is to be another. `sent`: an earlier try may have
// landed, or may yet.
Plan<std::optional<UpdateOutcome>> settle(Updating& updating, Result<ChangeOutcome> outcome,
                                          bool sent) {
  const Came came = updating.came();
  const bool refused = came == Came::kept || came == Came::missing || is_refusal(came, outcome);
  const bool by_marker = updating.call().has_marker();
  if (by_marker && (refused || (outcome && std::holds_alternative<Lost>(*outcome)))) {
    std::optional<UpdateOutcome> answer = co_await answer_by_marker(updating.call());
    if (answer) co_return std::move(answer);
  }
  if (refused && sent) co_return doubt();
  if (!outcome) co_return std::unexpected(std::move(outcome.error()));
  const Changed* changed = std::get_if<Changed>(&*outcome);
  if (changed == nullptr) co_return std::optional<UpdateOutcome>();
  Result<UpdateOutcome> answer = answer_for(came, changed->standing);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(*answer);
}

// Whether to try again after this error.
bool worth_another(const Error& error, bool sent) {
  return error.code == ErrorCode::unknown || (sent && error.code == ErrorCode::unavailable);
}

Plan<UpdateOutcome> try_until_settled(Updating& updating, Tries& tries) {
  bool sent = false;
  for (int retry = 0;;) {
    Time now = co_await store_now();
    Change wanted = updating.attempt_at(now);
    Result<ChangeOutcome> outcome = co_await attempt(change(wanted));
    const bool lost_reply = !outcome && outcome.error().code == ErrorCode::unknown;
    const bool overtaken = outcome && std::holds_alternative<Overtaken>(*outcome);
    sent = sent || lost_reply;
    if (lost_reply && !updating.call().has_id()) co_return co_await find_out(updating, tries);

    Result<std::optional<UpdateOutcome>> answer =
        co_await attempt(settle(updating, std::move(outcome), sent));
    if (answer && *answer) co_return std::move(**answer);
    now = co_await store_now();
    if (overtaken) {
      const std::optional<Duration> bound = tries.after_conflict(now, updating.etag_seen());
      if (!bound && sent) co_return doubt();
      if (!bound) co_return tries.contended();
      co_await pause_within(*bound);
      continue;
    }
    if (!answer && !worth_another(answer.error(), sent)) {
      co_return sent ? doubt() : std::unexpected(std::move(answer.error()));
    }
    if (tries.is_over(now)) co_return doubt();
    co_await back_off(retry++);
  }
}

}  // namespace

Plan<UpdateOutcome> update(Key key, UpdateRequest request, Contention& contention) {
  const Time start = co_await store_now();
  Tries tries(key, request.adaptive, contention, start);
  Bytes hash = hash_of_parts({"update", request.body});
  Call call = co_await start_call(std::move(key), std::move(request.identity), std::move(hash));
  Updating updating(std::move(call), std::move(request.modify));
  UpdateOutcome outcome = co_await try_until_settled(updating, tries);
  if (auto* updated = std::get_if<Updated>(&outcome)) {
    tries.succeeded();
    updated->conflicts = tries.conflicts();
  }
  co_return std::move(outcome);
}

}  // namespace once::documents

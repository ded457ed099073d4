// Changing a document regardless of its current content.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "once/documents.h"
#include "primitives/commit_resolved.h"
#include "primitives/document_change.h"
#include "primitives/keys.h"

namespace once::documents {
namespace {

constexpr int kPlainAttempts = 4;
constexpr Duration kPlainBase{100};
constexpr Duration kUpdateDeadline = std::chrono::seconds(10);
constexpr std::size_t kMaxEtags = 16;

// Contention.
constexpr Duration kBaseBound{100};
constexpr Duration kLongestBound{1'000};
constexpr int kTopLevel = 5;  // The first level whose bound is the longest.
constexpr Duration kLevelMemory = std::chrono::seconds(10);
constexpr std::size_t kMaxLevels = 1'024;

Duration bound_at(int level) {
  return std::min(kLongestBound, kBaseBound * (1 << std::max(level - 1, 0)));
}

// The result of the last time an update was applied.
enum class UpdateResult : std::uint8_t {
  not_applied,
  applied,  // The change is made if the commit succeeds.
  kept,     // Nothing is to be changed.
  missing,  // Nothing is to be changed, and there is no document.
  failed,   // It cannot be applied.
  ours,     // Its id was found in the item, as with EarlierChange.
  replayed,
  mismatch,
};

UpdateResult result_of(EarlierChange earlier) {
  switch (earlier) {
    case EarlierChange::ours: return UpdateResult::ours;
    case EarlierChange::replayed: return UpdateResult::replayed;
    case EarlierChange::mismatch: return UpdateResult::mismatch;
    case EarlierChange::none: return UpdateResult::not_applied;
  }
  return UpdateResult::not_applied;
}

// An update as a driver applies it, perhaps together with others.
class PendingUpdate {
 public:
  PendingUpdate(ChangeCall call, Modify modify, std::size_t weight)
      : call_(std::move(call)), modify_(std::move(modify)), weight_(weight) {}

  // The next try. Refers to this object.
  Change attempt_at(Time now);

  Result<Edit> apply(const std::optional<Item>& current);

  // Whether `item`, which holds `record`, shows that the change was made. All updates of one group
  // share a version, and only the last one's stamp is stored. So either the stamp is ours; or the
  // item has the version that the change was applied to, which was then our own group's, but
  // another stamp.
  bool was_made(const std::optional<Item>& item, const DocumentRecord& record) const;

  // Whether `item` is the one that the change was applied to: then it was not made, or not yet.
  bool is_base(const std::optional<Item>& item, const DocumentRecord& record) const;

  const ChangeCall& call() const { return call_; }
  UpdateResult result() const { return result_; }

  // The ETag of the document that the change was applied to, if there was one.
  std::optional<std::string> base_etag() const;

 private:
  Result<Edit> edit_for(DocumentRecord last, const Modified& wanted);

  const ChangeCall call_;
  const Modify modify_;
  const std::size_t weight_;

  Time now_;
  UpdateResult result_ = UpdateResult::not_applied;
  // The item that the change was last applied to.
  bool exists_ = false;
  Version version_;
  Version stamp_;
};

Change PendingUpdate::attempt_at(Time now) {
  now_ = now;
  result_ = UpdateResult::not_applied;
  Change change{call_.key, [this](const std::optional<Item>& item) { return apply(item); }, {}};
  change.weight = weight_;
  if (call_.has_marker()) change.also.push_back(marker_of(call_, now));
  return change;
}

Result<Edit> PendingUpdate::apply(const std::optional<Item>& current) {
  result_ = UpdateResult::failed;
  Result<DocumentRecord> record = decode_document(current, now_);
  if (!record) return std::unexpected(std::move(record.error()));
  exists_ = record->exists;
  version_ = current ? current->version : Version{};
  stamp_ = record->stamp;
  if (call_.ids_in_item) {
    const EarlierChange earlier = find_in_record(*record, call_, now_);
    if (earlier != EarlierChange::none) {
      result_ = result_of(earlier);
      return Keep{};
    }
  }
  Result<Modified> wanted = modify_(exists_ ? std::optional(record->content) : std::nullopt);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  return edit_for(std::move(*record), *wanted);
}

Result<Edit> PendingUpdate::edit_for(DocumentRecord last, const Modified& wanted) {
  const Content* content = std::get_if<Content>(&wanted);
  if (std::holds_alternative<Keep>(wanted) || (content == nullptr && !last.exists)) {
    result_ = last.exists ? UpdateResult::kept : UpdateResult::missing;
    return Keep{};
  }
  if (content != nullptr) {
    if (Result<void> ok = check_content(*content); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  Result<DocumentRecord> next = record_after(std::move(last), wanted, call_, now_);
  if (!next) return std::unexpected(std::move(next.error()));
  result_ = UpdateResult::applied;
  return Replace{encode(*next), expiry_of(*next, now_, call_.clock_error)};
}

bool PendingUpdate::was_made(const std::optional<Item>& item, const DocumentRecord& record) const {
  if (!item) return false;
  return record.stamp == call_.stamp || (item->version == version_ && record.stamp != stamp_);
}

bool PendingUpdate::is_base(const std::optional<Item>& item, const DocumentRecord& record) const {
  const Version version = item ? item->version : Version{};
  return version == version_ && record.stamp == stamp_;
}

std::optional<std::string> PendingUpdate::base_etag() const {
  return exists_ ? std::optional(etag_of(version_)) : std::nullopt;
}

// How often and how long an update is tried.
class UpdateRetries {
 public:
  UpdateRetries(Key key, bool adaptive, Contention& contention, Time start)
      : key_(std::move(key)),
        adaptive_(adaptive),
        contention_(contention),
        deadline_(later(start, kUpdateDeadline)) {}

  // The longest pause before the next try; empty to give up.
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

Result<UpdateOutcome> updated_to(const std::optional<Item>& current, bool replayed, Time now) {
  Result<DocumentRecord> record = decode_document(current, now);
  if (!record) return std::unexpected(std::move(record.error()));
  const Version version = current ? current->version : Version{};
  return Updated{document_in(std::move(*record), version), replayed};
}

// The answer once the change is known to be stored, or to be refused for good.
Result<UpdateOutcome> answer_for(UpdateResult result, const std::optional<Item>& current,
                                 Time now) {
  if (result == UpdateResult::mismatch) return Mismatch{};
  if (result == UpdateResult::missing) return NotFound{};
  return updated_to(current, result == UpdateResult::replayed, now);
}

// The answer if the id's marker exists. For a change with a marker only that tells whether it was
// made. `met` is the marker that the commit lost to, if it did: it is not looked at again.
Plan<std::optional<UpdateOutcome>> answer_by_marker(ChangeCall call, std::optional<Item> met) {
  const Key key = call.key;
  Result<EarlierChange> told = earlier_by(met, call);
  if (!told) co_return std::unexpected(std::move(told.error()));
  EarlierChange earlier = *told;
  if (!met) earlier = co_await find_marker(std::move(call));
  if (earlier == EarlierChange::none) co_return std::optional<UpdateOutcome>();
  const std::optional<Item> current = co_await once::get(key);
  const Time now = co_await store_now();
  Result<UpdateOutcome> answer = answer_for(result_of(earlier), current, now);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(*answer);
}

// Sends the change again, alone, under the same guard as the commit whose reply was lost: only one
// of the two can be written.
Plan<UpdateOutcome> send_again(PendingUpdate& pending, std::optional<Item> base) {
  const Time now = co_await store_now();
  Result<Edit> edit = pending.apply(base);
  Replace* replace = edit ? std::get_if<Replace>(&*edit) : nullptr;
  if (replace == nullptr) co_return outcome_unknown();
  Write write = once::put(pending.call().key, std::move(replace->value),
                          base ? unchanged(base->version) : absent(), replace->expiry);
  const Result<CommitOutcome> outcome = co_await attempt(commit_resolved(write));
  if (!outcome) co_return outcome_unknown();
  if (committed(*outcome)) {
    co_return updated_to(Item{write.value, write.version, write.expiry}, false, now);
  }
  const std::optional<Item>& current = std::get<Lost>(*outcome).current;
  const Result<DocumentRecord> record = decode_document(current, now);
  if (record && pending.was_made(current, *record)) co_return updated_to(current, false, now);
  co_return outcome_unknown();
}

// Resolves a change without an id whose reply was lost: it is found by its stamp, or is still to be
// made (docs/hazards.md#h7).
Plan<UpdateOutcome> resolve_without_id(PendingUpdate& pending, UpdateRetries& retries) {
  for (int retry = 0;; ++retry) {
    co_await back_off(retry);
    Result<std::optional<Item>> current = co_await attempt(once::get(pending.call().key));
    const Time now = co_await store_now();
    if (!current && !retries.is_over(now)) continue;
    if (!current) co_return outcome_unknown();
    const Result<DocumentRecord> record = decode_document(*current, now);
    if (record && pending.was_made(*current, *record)) co_return updated_to(*current, false, now);
    if (!record || !pending.is_base(*current, *record)) co_return outcome_unknown();
    co_return co_await send_again(pending, std::move(*current));
  }
}

// Whether the change cannot be applied to the current item.
bool is_refusal(UpdateResult result, const Result<ChangeOutcome>& outcome) {
  return !outcome && (result == UpdateResult::failed || !is_transient(outcome));
}

// The answer after one try; empty: try again. `sent`: an earlier try may have been written, or may
// yet be.
Plan<std::optional<UpdateOutcome>> answer_after(PendingUpdate& pending,
                                                Result<ChangeOutcome> outcome, bool sent) {
  const UpdateResult result = pending.result();
  const bool refused = result == UpdateResult::kept || result == UpdateResult::missing ||
                       is_refusal(result, outcome);
  const bool by_marker = pending.call().has_marker();
  const Lost* const lost = outcome ? std::get_if<Lost>(&*outcome) : nullptr;
  if (by_marker && (refused || lost != nullptr)) {
    std::optional<Item> met = lost != nullptr ? lost->current : std::nullopt;
    std::optional<UpdateOutcome> answer = co_await answer_by_marker(pending.call(), std::move(met));
    if (answer) co_return std::move(answer);
  }
  if (refused && sent) co_return outcome_unknown();
  if (!outcome) co_return std::unexpected(std::move(outcome.error()));
  const Changed* changed = std::get_if<Changed>(&*outcome);
  if (changed == nullptr) co_return std::optional<UpdateOutcome>();
  const Time now = co_await store_now();
  Result<UpdateOutcome> answer = answer_for(result, changed->current(), now);
  if (!answer) co_return std::unexpected(std::move(answer.error()));
  co_return std::move(*answer);
}

bool is_retryable(const Error& error, bool sent) {
  return error.code == ErrorCode::unknown || (sent && error.code == ErrorCode::unavailable);
}

Plan<UpdateOutcome> update_until_decided(PendingUpdate& pending, UpdateRetries& retries) {
  bool sent = false;
  for (int retry = 0;;) {
    Time now = co_await store_now();
    Change wanted = pending.attempt_at(now);
    Result<ChangeOutcome> outcome = co_await attempt(change(wanted));
    const bool lost_reply = !outcome && outcome.error().code == ErrorCode::unknown;
    const bool overtaken = outcome && std::holds_alternative<Overtaken>(*outcome);
    sent = sent || lost_reply;
    if (lost_reply && !pending.call().has_id()) {
      co_return co_await resolve_without_id(pending, retries);
    }

    Result<std::optional<UpdateOutcome>> answer =
        co_await attempt(answer_after(pending, std::move(outcome), sent));
    if (answer && *answer) co_return std::move(**answer);
    now = co_await store_now();
    if (overtaken) {
      const std::optional<Duration> bound = retries.after_conflict(now, pending.base_etag());
      if (!bound && sent) co_return outcome_unknown();
      if (!bound) co_return retries.contended();
      const PauseBounds within{.first = *bound, .longest = *bound};
      co_await back_off(0, within);
      continue;
    }
    if (!answer && !is_retryable(answer.error(), sent)) {
      co_return sent ? outcome_unknown() : std::unexpected(std::move(answer.error()));
    }
    if (retries.is_over(now)) co_return outcome_unknown();
    co_await back_off(retry++);
  }
}

}  // namespace

Plan<UpdateOutcome> update(Key key, UpdateRequest request, Contention& contention) {
  const Time start = co_await store_now();
  UpdateRetries retries(key, request.adaptive, contention, start);
  const std::size_t weight = weight_of_update(request.body.size()) + request.weight;
  Bytes hash = hash_of_parts({"update", request.body});
  ChangeCall call =
      co_await start_call(std::move(key), std::move(request.identity), std::move(hash));
  call.keeps_end = true;
  PendingUpdate pending(std::move(call), std::move(request.modify), weight);
  UpdateOutcome outcome = co_await update_until_decided(pending, retries);
  if (auto* updated = std::get_if<Updated>(&outcome)) {
    retries.succeeded();
    updated->conflicts = retries.conflicts();
  }
  co_return std::move(outcome);
}

// The level of a document is how many conflicts in a row its recent changes met. A conflict raises
// it to the caller's own count, not by one: thirty callers that collide once have met one conflict
// each. Each change that succeeds lowers it, and after ten quiet seconds it is forgotten.
class Contention::Levels {
 public:
  int conflicted(const std::string& home, int conflicts, Time now) ONCE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    if (levels_.size() >= kMaxLevels && !levels_.contains(home)) levels_.erase(levels_.begin());
    Level& level = levels_[home];
    const int before = now < later(level.last, kLevelMemory) ? level.height : 0;
    level = {std::clamp(conflicts, before, kTopLevel), std::max(level.last, now)};
    return level.height;
  }

  void succeeded(const std::string& home, int conflicts) ONCE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const auto found = levels_.find(home);
    if (found == levels_.end()) return;
    int& height = found->second.height;
    height = conflicts == 0 ? height / 2 : height - 1;
    if (height <= 0) levels_.erase(found);
  }

  int level(const std::string& home, Time now) const ONCE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const auto found = levels_.find(home);
    if (found == levels_.end() || now >= later(found->second.last, kLevelMemory)) return 0;
    return found->second.height;
  }

 private:
  struct Level {
    int height = 0;
    Time last;  // Of the last conflict.
  };

  mutable Mutex mutex_;
  std::unordered_map<std::string, Level> levels_ ONCE_GUARDED_BY(mutex_);
};

Contention::Contention() : levels_(std::make_unique<Levels>()) {}
Contention::~Contention() = default;

Duration Contention::conflicted(const Key& key, int conflicts, Time now) {
  return bound_at(levels_->conflicted(key.partition.home, conflicts, now));
}

void Contention::succeeded(const Key& key, int conflicts) {
  levels_->succeeded(key.partition.home, conflicts);
}

Duration Contention::bound(const Key& key, Time now) const {
  return bound_at(levels_->level(key.partition.home, now));
}

}  // namespace once::documents

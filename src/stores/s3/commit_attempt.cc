#include "stores/s3/commit_attempt.h"

#include <algorithm>
#include <utility>

#include "kernel/apply.h"
#include "stores/s3/names.h"
#include "stores/s3/object.h"

namespace once::s3 {
namespace {

bool is_arithmetic(const Write& write) {
  return write.kind == Write::Kind::add || write.kind == Write::Kind::raise;
}

bool replaces(const Write& write) {
  return write.kind == Write::Kind::put || write.kind == Write::Kind::erase;
}

Condition none_there() { return {Condition::Kind::absent, {}}; }

Hints::Hint hint_of(const Found& found) {
  const Item& item = found.object->item;
  return {item.version, item.expiry, found.etag, found.object->before};
}

}  // namespace

CommitAttempt::CommitAttempt(const Bucket& bucket, Hints& hints, Entropy& entropy,
                             const Write& write)
    : bucket_(bucket),
      hints_(hints),
      entropy_(entropy),
      write_(write),
      name_(bucket.name_of(write.key)) {}

// Prepares the first request if it can be sent without knowing the current object.
void CommitAttempt::begin(Time now) {
  const bool puts = write_.kind == Write::Kind::put;
  step_ = Step::read;
  switch (write_.guard.kind) {
    case Guard::Kind::anything:
      if (puts) write({}, {}, std::nullopt, false);
      if (write_.kind == Write::Kind::erase) step_ = Step::remove;
      break;
    case Guard::Kind::permanent: break;
    case Guard::Kind::absent:
      if (puts) write(none_there(), {}, std::nullopt, false);
      break;
    case Guard::Kind::unchanged: {
      if (!replaces(write_)) break;
      const std::optional<Hints::Hint> hint = hints_.find(write_.key, write_.guard.version);
      if (hint && hint->expiry > now) replace(*hint, std::nullopt, !puts);
      break;
    }
  }
}

aws::Request CommitAttempt::next(Time now) {
  pause_ = false;
  now_ = now;
  if (step_ == Step::begin) begin(now);
  if (step_ == Step::read || decided()) return bucket_.get(name_);
  if (step_ == Step::remove) return bucket_.remove(name_, {});
  if (is_plain_name(name_)) return bucket_.put(name_, plain_.body, condition_, plain_.headers);
  return bucket_.put(name_, object_bytes(object_), condition_);
}

void CommitAttempt::take(Result<aws::Response> response) {
  if (decided()) return;  // It cannot be written.
  if (step_ == Step::read) {
    take_found(response);
  } else {
    take_written(read_written(response));
  }
}

void CommitAttempt::take_found(const Result<aws::Response>& response) {
  const Result<Found> found = read_found(name_, write_.key, response);
  if (!found && doubt_ && found.error().code == ErrorCode::unavailable) {
    pause_ = true;  // And the same GET again.
    return;
  }
  if (!found) {
    const bool is_damaged = refused_ && found.error().code == ErrorCode::corrupt;
    return decide(std::unexpected(doubt_ && !is_damaged ? *doubt_ : found.error()));
  }
  // The object is the same, and so is its ETag: it was the form of the condition that was refused.
  const bool unchanged = found->object && !object_.before.empty() &&
                         found->object->item.version == object_.before.front();
  if (unchanged && !refused_etag_.empty() && found->etag == refused_etag_) {
    return decide(failure(ErrorCode::unsupported,
                          bucket_.bare_etags()
                              ? "this server refuses a bare ETag; leave out etag=bare"
                              : "this server refuses the ETag that it gave; try etag=bare"));
  }
  refused_etag_.clear();
  take_fate(*found);
}

bool CommitAttempt::is_ours(Version version) const {
  const bool leaves_its_version = write_.kind == Write::Kind::put || is_arithmetic(write_);
  return (sent_ && version == object_.item.version) ||
         (leaves_its_version && version == write_.version);
}

// The current object tells which write replaced the version that ours was to replace: by its own
// version, or by those before it.
CommitAttempt::Fate CommitAttempt::fate_by(const Found& found) const {
  if (!found.object) return Fate::open;
  const std::vector<Version>& before = found.object->before;
  const auto ours = [this](Version version) { return is_ours(version); };
  if (ours(found.object->item.version) || std::ranges::any_of(before, ours)) return Fate::landed;
  const bool replaces_one = sent_ && !object_.before.empty();
  if (replaces_one && std::ranges::find(before, object_.before.front()) != before.end()) {
    return Fate::replaced_by_another;
  }
  return Fate::open;
}

void CommitAttempt::take_fate(const Found& found) {
  const Fate fate = fate_by(found);
  if (fate == Fate::landed) return decide_committed();
  if (fate == Fate::open && doubt_ && !refused_) return decide(std::unexpected(*doubt_));
  // So many have written since that ours, had it landed, would no longer be listed. A list that is
  // not full was begun by a write without condition, after which it does not matter.
  const bool may_be_forgotten = sent_ && condition_.kind == Condition::Kind::match &&
                                found.object && found.object->before.size() == kMaxBefore;
  if (fate == Fate::open && may_be_forgotten) {
    return decide(failure(ErrorCode::unknown, "s3: refused, and written by too many since"));
  }
  doubt_.reset();
  weigh(found);
}

void CommitAttempt::weigh(const Found& found) {
  const bool live = found.object && lives(*found.object, now_);
  CurrentItem current;
  if (live) {
    const Item& item = found.object->item;
    current.version = item.version;
    current.permanent = item.expiry == kNever;
    if (const auto* number = std::get_if<std::int64_t>(&item.value)) current.number = *number;
    hints_.keep(write_.key, hint_of(found));
  }
  if (!holds(write_.guard, live ? &current : nullptr)) {
    decide(CommitOutcome(Lost{}));
    if (live) std::get<Lost>(**answer_).current.emplace(found.object->item);
    return;
  }
  const Result<Effect> effect = effect_of(write_, live ? &current : nullptr);
  if (!effect) return decide(std::unexpected(effect.error()));
  const bool erases = effect->kind == Effect::Kind::erase;
  number_ = effect->number;
  if (effect->kind == Effect::Kind::none || (erases && !live)) return decide_committed();
  if (found.object) {
    replace(hint_of(found), effect->number, erases);
  } else {
    write(none_there(), {}, effect->number, erases);
  }
}

void CommitAttempt::replace(const Hints::Hint& current, std::optional<std::int64_t> number,
                            bool erases) {
  write({Condition::Kind::match, current.etag}, after(current.version, current.before), number,
        erases);
}

void CommitAttempt::write(Condition condition, std::vector<Version> before,
                          std::optional<std::int64_t> number, bool erases) {
  step_ = Step::write;
  condition_ = std::move(condition);
  if (erases) {
    object_ = tombstone(write_.key, entropy_.version(), now_);
  } else {
    object_ = {.key = write_.key,
               .item = {number ? Value(*number) : write_.value, write_.version, write_.expiry}};
  }
  object_.before = std::move(before);
  if (is_plain_name(name_)) {
    Result<PlainBody> plain = plain_body(name_, object_);
    if (!plain) return decide(std::unexpected(std::move(plain.error())));
    plain_ = std::move(*plain);
  }
  sent_ = true;
}

void CommitAttempt::take_written(const Written& written) {
  switch (written.kind) {
    case Written::Kind::done:
      hints_.forget(write_.key);
      if (step_ == Step::write && !object_.tombstone && !written.etag.empty()) {
        hints_.keep(write_.key, {object_.item.version, object_.item.expiry, written.etag,
                                 std::move(object_.before)});
      }
      return decide_committed();
    case Written::Kind::refused:
      if (step_ == Step::remove) return decide_committed();  // There was nothing.
      if (condition_.kind == Condition::Kind::match) refused_etag_ = condition_.etag;
      hints_.forget(write_.key);
      step_ = Step::read;
      refused_ = true;
      doubt_ =
          Error{ErrorCode::unknown, "s3: refused, perhaps because it was sent twice on its way"};
      // One refusal is a lost race; several mean contention.
      pause_ = ++refusals_ > 1;
      return;
    case Written::Kind::again: pause_ = true; return;
    case Written::Kind::failed:
      hints_.forget(write_.key);
      if (written.error.code != ErrorCode::unknown || step_ != Step::write ||
          condition_.kind == Condition::Kind::none) {
        return decide(std::unexpected(written.error));
      }
      doubt_ = written.error;
      refused_ = false;
      step_ = Step::read;
      return;
  }
}

void CommitAttempt::decide_committed() {
  Committed done;
  if (is_arithmetic(write_)) done.numbers.emplace_back(number_);
  decide(CommitOutcome(std::move(done)));
}

Result<CommitOutcome> CommitAttempt::answer() const {
  if (answer_) return *answer_;
  if (doubt_) return std::unexpected(*doubt_);
  return failure(ErrorCode::unavailable, "s3: others were at it until the time was over");
}

}  // namespace once::s3

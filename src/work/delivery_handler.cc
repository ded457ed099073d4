#include "work/delivery_handler.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/digest.h"
#include "base/names.h"

namespace once::work {
namespace {

using Why = NotRun::Why;

constexpr Duration kLeastBack = std::chrono::milliseconds(100);
constexpr Duration kMostBack = std::chrono::hours(12);  // SQS hides no message for longer.

// Not because of what was asked of it.
bool is_down(const Error& error) { return is_transient(error) || error.code == ErrorCode::denied; }

}  // namespace

void UnwrittenReasons::remember(const std::string& key, const std::string& reason) {
  constexpr std::size_t kMost = 1'000;
  const Lock lock(mutex_);
  if (reasons_.size() >= kMost) reasons_.erase(reasons_.begin());
  reasons_[key] = reason;
}

std::optional<std::string> UnwrittenReasons::take(const std::string& key) {
  const Lock lock(mutex_);
  auto found = reasons_.extract(key);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

Duration DeliveryHandler::delay_after(std::int64_t failures) const {
  Duration delay = options_.first_delay;
  for (std::int64_t i = 1; i < failures && delay < options_.longest_delay; ++i) delay *= 2;
  return std::min(delay, options_.longest_delay);
}

DeliveryResult DeliveryHandler::handle(const Message& message,
                                       const std::function<void()>& claimed) const {
  const Result<std::string> key = claim_of(queue_.name(), message, options_.key);
  DeliveryResult ended = key ? run(message, *key, claimed)
                             : bury(message, "", "no_key", key.error().message, message.deliveries);
  if (key) ended.key = *key;
  return ended;
}

DeliveryResult DeliveryHandler::run(const Message& message, const std::string& key,
                                    const std::function<void()>& claimed) const {
  std::stop_source lost;
  Renewals renewals;
  AttemptState state;
  const RunOptions options{
      .lease = options_.lease,
      .ttl = options_.ttl,
      .owner = options_.owner,
      .on_renewal = [&](const Attempt& attempt) {
        if (attempt.lost()) {
          lost.request_stop();
          return;
        }
        renewals.tell();
        if (const auto extended = queue_.extend(message, options_.lease); !extended) {
          trouble_(extended.error());  // At worst it comes again, and meets a busy claim.
        }
      }};
  const RunResult ran = once_.run(key, options, [&](Attempt& attempt) {
    claimed();
    return attempt_at({message, attempt, lost.get_token(), renewals}, state);
  });
  if (!ran) return ended(message, key, ran.error(), state);
  if (ran->replayed) return {.what = Delivered::duplicate, .cause = "already_done"};
  return {.what = Delivered::handled, .cause = "handled"};
}

// A message that kills its workers has no attempt that fails, only some that never finish. One that
// was put back from the dead letters is new to the broker, and has another chance.
Result<Effects> DeliveryHandler::attempt_at(Task task, AttemptState& state) const {
  const Message& message = task.message;
  const Attempt& attempt = task.attempt;
  state.number = attempt.number();
  if (attempt.number() > options_.max_attempts && message.deliveries > 1) {
    const std::optional<std::string> reason = unwritten_.take(attempt.key());
    state.unfinished = !reason.has_value();
    Error error{ErrorCode::invalid, reason.value_or("no attempt at it came to an end")};
    return failed(message, attempt, std::move(error), state);
  }
  Result<Effects> effects = call_handler(task);
  state.lost = attempt.lost() || task.lease_ended;
  if (effects || state.lost) return effects;
  return failed(message, attempt, std::move(effects.error()), state);
}

Result<Effects> DeliveryHandler::call_handler(Task& task) const {
  try {
    return handler_(task);
  } catch (const std::exception& thrown) {
    return failure(ErrorCode::invalid, std::string("the handler threw: ") + thrown.what());
  } catch (...) {
    return failure(ErrorCode::invalid, "the handler threw something");
  }
}

// The dead letter is written before the key is freed. The key is freed, not failed for good, so
// that a message that is put back into the queue is handled (docs/hazards.md#h31).
std::unexpected<Error> DeliveryHandler::failed(const Message& message, const Attempt& attempt,
                                               Error error, AttemptState& state) const {
  if (attempt.number() < options_.max_attempts) return std::unexpected(std::move(error));
  const Result<void> dead = send_dead(message, attempt.key(), error.message);
  state.dead = dead.has_value();
  if (!dead) {
    trouble_(dead.error());
    if (!state.unfinished) unwritten_.remember(attempt.key(), error.message);
  }
  return std::unexpected(std::move(error));
}

DeliveryResult DeliveryHandler::ended(const Message& message, const std::string& key,
                                      const NotRun& not_run, const AttemptState& state) const {
  DeliveryResult back{.reason = not_run.error.message, .back = delay_after(state.number)};
  const auto comes_back = [&](Delivered what, std::string_view cause) {
    back.what = what;
    back.cause = cause;
    return back;
  };
  switch (not_run.why) {
    case Why::busy:
      back.back = std::clamp(not_run.until - once_.now(), kLeastBack, kMostBack);
      return comes_back(Delivered::busy, "already_processing");
    case Why::retry:
      if (state.dead)
        return comes_back(Delivered::dead, state.unfinished ? "unfinished" : "attempts_used_up");
      if (!state.lost) return comes_back(Delivered::failed, "handler_failed");
      [[fallthrough]];
    case Why::fenced: back.back = options_.lease; return comes_back(Delivered::lost, "lease_lost");
    case Why::refused:
      if (state.number >= options_.max_attempts) {
        return bury(message, key, "attempts_used_up", not_run.error.message, state.number);
      }
      return comes_back(Delivered::failed, "effects_refused");
    case Why::store_error:
      back.back = delay_after(message.deliveries);
      back.store_down = is_down(not_run.error);
      return comes_back(Delivered::returned, back.store_down ? "store_down" : "store_refused");
    case Why::failed:
    case Why::mismatch: break;
  }
  return bury(message, key, "failed_for_good", not_run.error.message, state.number);
}

DeliveryResult DeliveryHandler::bury(const Message& message, const std::string& key,
                                     std::string_view cause, std::string reason,
                                     std::int64_t failures) const {
  const Result<void> dead = send_dead(message, key, reason);
  if (dead) return {.what = Delivered::dead, .cause = cause, .reason = std::move(reason)};
  trouble_(dead.error());
  return {.what = Delivered::failed,
          .cause = "no_dead_letter",
          .reason = std::move(reason),
          .back = delay_after(failures)};
}

Result<void> DeliveryHandler::send_dead(const Message& message, const std::string& key,
                                        const std::string& reason) const {
  const Result<DeadLetter> dead = queue_.dead_letter(message, reason);
  if (!dead) return std::unexpected(dead.error());
  if (key.empty()) return {};
  // The letter is written: that its record is not is no failure of the message's.
  if (const Result<void> recorded = record_reason(key, reason); !recorded) {
    trouble_(recorded.error());
  }
  return {};
}

// A failed claim that operators find (`once claim list --state failed`). It has a name of its own,
// because the message's claim must be free when the letter is put back (docs/hazards.md#h31).
Result<void> DeliveryHandler::record_reason(const std::string& key,
                                            const std::string& reason) const {
  std::string name = "dead/" + key;
  if (!keys::check_name(name)) name = "dead/#" + sha256_hex(key);
  Claims& claims = once_.claims();
  if (const auto forgotten = claims.forget(name); !forgotten) {
    return std::unexpected(forgotten.error());
  }
  const Result<ClaimOutcome> taken =
      claims.take(name, {.owner = options_.owner, .ttl = options_.ttl});
  if (!taken) return std::unexpected(taken.error());
  const auto* const claimed = std::get_if<Claimed>(&*taken);
  if (claimed == nullptr) return {};  // Another worker records it.
  const auto released = claims.release(name, claimed->ticket, reason, Release::final);
  if (!released) return std::unexpected(released.error());
  return {};
}

void DeliveryHandler::settle(const Message& message, const DeliveryResult& ended) const {
  const Result<void> settled =
      ended.comes_back() ? queue_.give_back(message, ended.back) : queue_.ack(message);
  if (!settled) trouble_(settled.error());
}

}  // namespace once::work

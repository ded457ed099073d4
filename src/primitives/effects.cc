#include "once/effects.h"

#include <algorithm>
#include <span>
#include <utility>

#include "primitives/effects_draft.h"

namespace once {

Effects& Effects::result(Bytes result) {
  result_ = std::move(result);
  return *this;
}

Effects& Effects::append(std::string stream, Bytes event) {
  std::vector<LogEvent> events;
  events.push_back({std::move(event), std::nullopt});
  return append(std::move(stream), std::move(events));
}

Effects& Effects::append(std::string stream, std::vector<LogEvent> events) {
  appends_.push_back({std::move(stream), std::move(events)});
  return *this;
}

Effects& Effects::put(std::string document, documents::Content content,
                      documents::Condition condition) {
  documents_.push_back({std::move(document), std::move(content), std::move(condition)});
  return *this;
}

Effects& Effects::add(std::string tally, std::int64_t amount) {
  return merge(std::move(tally), {.shape = {.kind = TallyKind::sum}, .input = amount});
}

Effects& Effects::merge(std::string tally, TallyRequest request) {
  tallies_.push_back({std::move(tally), std::move(request)});
  return *this;
}

namespace effects {
namespace {

// The plans take the work by reference: it lives in the frame of the one that awaits them.

Plan<Sight> look(std::vector<Key> keys) {
  const Limits* limits = co_await store_limits();
  Sight sight;
  for (std::size_t at = 0; at < keys.size(); at += limits->keys_per_get) {
    const std::size_t count = std::min(keys.size() - at, limits->keys_per_get);
    const std::span<const Key> some(&keys[at], count);
    std::vector<std::optional<Item>> items = co_await get(some);
    for (std::size_t i = 0; i < count; ++i) sight.emplace(some[i], std::move(items[i]));
  }
  co_return std::move(sight);
}

Plan<std::vector<logs::Place>> places_of(const Work& work) {
  std::vector<logs::Place> places;
  for (const logs::Job& job : work.jobs) {
    const logs::Place place = co_await logs::next_place(job);
    places.push_back(place);
  }
  co_return std::move(places);
}

std::unexpected<Error> doubt() {
  return failure(ErrorCode::unknown, "a reply was lost; the commit may have been made");
}

// Something does not hold. That may be this commit's own doing, by a call before this one or beside
// it, so the witnesses are asked once more, after the fact (H23). While an earlier try may still
// land, nobody can say that nothing happened.
Plan<Outcome> refuse(const Work& work, Outcome refusal, bool unsure) {
  std::vector<Key> keys = witnesses(work);
  const Sight sight = co_await look(std::move(keys));
  Result<std::optional<Outcome>> found = verdict(work, sight);
  if (!found) co_return std::unexpected(std::move(found.error()));
  const bool made = *found && std::holds_alternative<Made>(**found);
  if (made) co_return std::move(**found);
  if (unsure) co_return doubt();
  co_return std::move(refusal);
}

// One try. Nothing: another's write came in between, and it may be tried again.
Plan<std::optional<Outcome>> try_once(const Work& work, Arithmetic arithmetic, bool unsure) {
  std::vector<Key> keys = keys_to_see(work, arithmetic);
  const Sight sight = co_await look(std::move(keys));
  Result<std::optional<Outcome>> known = verdict(work, sight);
  if (!known) co_return std::unexpected(std::move(known.error()));
  if (*known) {
    if (std::holds_alternative<Made>(**known)) co_return std::move(*known);
    Outcome refused = co_await refuse(work, std::move(**known), unsure);
    co_return std::move(refused);
  }
  const std::vector<logs::Place> places = co_await places_of(work);
  const Version version = co_await fresh_version();
  const Time now = co_await store_now();
  auto drafted = draft(work, sight, places, version, arithmetic, now);
  if (!drafted) co_return std::unexpected(std::move(drafted.error()));
  if (auto* refusal = std::get_if<Refused>(&*drafted)) {
    Outcome reason = std::move(*refusal);
    Outcome refused = co_await refuse(work, std::move(reason), unsure);
    co_return std::move(refused);
  }
  Draft ready = std::get<Draft>(std::move(*drafted));
  if (ready.writes.empty()) co_return Outcome(made_by(work, std::move(ready), {}));
  if (now >= work.until) co_return failure(ErrorCode::unavailable, "out of time");
  const CommitOutcome outcome = co_await once::commit(ready.writes);
  const auto* committed = std::get_if<Committed>(&outcome);
  if (committed == nullptr) co_return std::optional<Outcome>();
  co_return Outcome(made_by(work, std::move(ready), *committed));
}

// Whether a try that failed is to be made again. What was unknown before stays so whatever a later
// try comes to.
bool again(const Error& error, const Work& work, bool unsure) {
  if (!work.guarded()) return false;
  return error.code == ErrorCode::unknown || (unsure && error.code == ErrorCode::unavailable);
}

Plan<Outcome> commit_work(Work work) {
  Arithmetic arithmetic = Arithmetic::the_stores;
  bool unsure = false;  // An earlier try may have landed, or may yet.
  for (int tries = 1;; ++tries) {
    Result<std::optional<Outcome>> tried = co_await attempt(try_once(work, arithmetic, unsure));
    if (tried && *tried) co_return std::move(**tried);
    const Time now = co_await store_now();
    if (!tried) {
      const bool overflow = tried.error().code == ErrorCode::invalid &&
                            arithmetic == Arithmetic::the_stores && !unsure;
      if (!overflow && !again(tried.error(), work, unsure)) {
        if (unsure) co_return doubt();
        co_return std::unexpected(std::move(tried.error()));
      }
      unsure = unsure || tried.error().code == ErrorCode::unknown;
      if (overflow) arithmetic = Arithmetic::ours;
    }
    if (now >= work.until) {
      if (unsure) co_return doubt();
      co_return failure(ErrorCode::unavailable, "others were always faster");
    }
    co_await logs::back_off(tries);
  }
}

}  // namespace

Plan<Outcome> commit(Request request) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<Work> work = Work::of(request, *limits, now);
  if (!work) co_return std::unexpected(std::move(work.error()));
  if (work->fenced) co_return Refused{Refused::Part::claim, 0, Fenced{}};
  work->call = co_await random_number();
  co_return co_await commit_work(std::move(*work));
}

}  // namespace effects
}  // namespace once

#include "events/door.h"

#include <algorithm>
#include <utility>

#include "api/event_answers.h"

namespace once::events {
namespace {

// How long the store may take to say whose turn it is, and to take what was forwarded unasked.
constexpr Duration kCheckWithin = std::chrono::seconds(10);
constexpr Duration kMakeUpWithin = std::chrono::seconds(2);

// A driver that is full for a moment is asked again: the handler has done its part already.
constexpr int kTries = 5;
constexpr Duration kPause = std::chrono::milliseconds(100);

bool is_taken(const Result<api::Response>& answer) {
  return answer && answer->status >= 200 && answer->status < 300;
}

api::Response refusal(const api::EventWork& work, const Result<api::Response>& answer) {
  return answer ? api::handler_refused(work, *answer) : api::handler_lost(work, answer.error());
}

}  // namespace

Door::Door(BatchingDriver& driver, const api::EventRoutes& routes, DoorOptions options,
           Clock& clock)
    : driver_(driver), clock_(clock) {
  std::optional<Duration> shortest;
  for (const api::EventRoute& route : routes) {
    if (!route.forward.empty()) shortest = std::min(shortest.value_or(route.lease), route.lease);
  }
  if (!shortest) return;
  leases_.emplace(driver, clock, *shortest);
  forwards_.emplace(options.forwards, 4 * options.forwards,
                    [this] { return [this](const Job& job) { forward(job); }; });
}

void Door::stop() {
  stopping_ = true;
  forwarder_.stop();
  if (forwards_) forwards_->finish();
  if (leases_) leases_->stop();
}

void Door::receive(api::EventRequest request, Hop hop, Delivery::Done done) {
  const auto delivery =
      std::make_shared<Delivery>(std::move(request), std::move(hop), std::move(done));
  advance(delivery);
  delivery->end_if_done();
}

void Door::advance(const std::shared_ptr<Delivery>& delivery) {
  while (const std::optional<std::size_t> index = delivery->next()) {
    Job job;
    job.delivery = delivery;
    job.index = *index;
    job.since = std::chrono::steady_clock::now();
    begin(std::move(job));
  }
}

// Not when the driver is on its way out: it would never answer.
void Door::begin(Job job) {
  if (stopping_) return job.delivery->answered(job.index, api::too_many(*job.work()));
  if (job.work()->forwards()) {
    admit(std::move(job));
  } else {
    process(std::move(job));
  }
}

void Door::process(Job job) {
  const auto shared = std::make_shared<Job>(std::move(job));
  Plan<api::Response> plan = api::processed(shared->work(), [shared] {
    shared->check = std::chrono::steady_clock::now() - shared->since;
  });
  const Result<void> started =
      driver_.start<api::Response>(std::move(plan), [this, shared](Result<api::Response> outcome) {
        end(*shared, outcome ? std::move(*outcome)
                             : api::not_recorded(*shared->work(), outcome.error(), false));
        advance(shared->delivery);
      });
  if (!started) shared->delivery->answered(shared->index, api::too_many(*shared->work()));
}

void Door::admit(Job job) {
  const auto shared = std::make_shared<Job>(std::move(job));
  const Result<void> started = driver_.start<api::Admission>(
      api::admitted(shared->work()),
      [this, shared](Result<api::Admission> outcome) {
        on_admitted(*shared, std::move(outcome));
        advance(shared->delivery);
      },
      kCheckWithin);
  if (!started) shared->delivery->answered(shared->index, api::too_many(*shared->work()));
}

void Door::on_admitted(Job job, Result<api::Admission> outcome) {
  job.check = std::chrono::steady_clock::now() - job.since;
  const api::EventWork& work = *job.work();
  api::Admission admission =
      outcome ? std::move(*outcome) : api::without_store(work, outcome.error());
  if (auto* answer = std::get_if<api::Response>(&admission)) return end(job, std::move(*answer));
  if (auto* passed = std::get_if<api::WithoutClaim>(&admission)) {
    job.error = std::move(passed->error);
  } else {
    job.claimed = std::get<Claimed>(std::move(admission));
    job.lease = leases_->hold(claims::claim_key(work.name_space, work.claim), job.claimed->ticket,
                              work.route.lease);
  }
  to_forward(std::move(job));
}

void Door::to_forward(Job job) {
  if (!forwards_->put(job)) turn_away(std::move(job));
}

// Its claim is freed, so that the next delivery need not wait for the lease to end.
void Door::turn_away(Job job) {
  const auto shared = std::make_shared<Job>(std::move(job));
  api::Response refused = api::too_many(*shared->work());
  if (!shared->claimed || stopping_) return end(*shared, std::move(refused));
  const Result<void> started = driver_.start<api::Response>(
      api::freed(shared->work(), *shared->claimed, refused),
      [this, shared](Result<api::Response> outcome) {
        end(*shared, outcome ? std::move(*outcome) : api::too_many(*shared->work()));
        advance(shared->delivery);
      });
  if (!started) end(*shared, std::move(refused));
}

void Door::end(const Job& job, api::Response answer) {
  if (job.claimed) leases_->let_go(job.lease);
  if (job.check.count() > 0) answer.notes.check_length = job.check;
  job.delivery->answered(job.index, std::move(answer));
}

void Door::forward(const Job& job) {
  const Claimed* const claimed = job.claimed ? &*job.claimed : nullptr;
  const Result<api::Response> answer = forwarder_.send(*job.work(), claimed, job.delivery->hop());
  end(job, claimed != nullptr ? conclude(job, answer) : conclude_unclaimed(job, answer));
  advance(job.delivery);
}

api::Response Door::conclude(const Job& job, const Result<api::Response>& answer) {
  const api::SharedWork& work = job.work();
  if (is_taken(answer)) {
    std::optional<Turns::Turn> turn;
    if (work->records()) turn.emplace(turns_, work->name_space + "/" + work->route.log);
    Result<api::Response> concluded =
        run([&] { return api::concluded(work, *job.claimed, answer->status); }, kAttemptLife);
    return concluded ? std::move(*concluded) : api::not_recorded(*work, concluded.error(), true);
  }
  api::Response refused = refusal(*work, answer);
  Result<api::Response> freed =
      run([&] { return api::freed(work, *job.claimed, refused); }, kCheckWithin);
  return freed ? std::move(*freed) : std::move(refused);
}

api::Response Door::conclude_unclaimed(const Job& job, const Result<api::Response>& answer) {
  const api::SharedWork& work = job.work();
  if (!is_taken(answer)) {
    api::Response refused = refusal(*work, answer);
    refused.notes.passed_over = api::Outcome::unavailable;
    return refused;
  }
  Result<api::Response> made_up = driver_.run(api::made_up_for(work, *job.error), kMakeUpWithin);
  if (made_up) return std::move(*made_up);
  return api::unguarded(*work, *job.error, work->records() ? api::AllDone::no : api::AllDone::yes);
}

// The plan may be sent again: its ticket keeps it from happening twice. Not by one who is stopping.
Result<api::Response> Door::run(const std::function<Plan<api::Response>()>& make,
                                Duration patience) {
  const Time until = later(clock_.now(), patience);
  for (int tries = 1;; ++tries) {
    Result<api::Response> answer = driver_.run(make(), until - clock_.now());
    if (answer || tries == kTries || answer.error().code != ErrorCode::unavailable) return answer;
    if (stopping_ || clock_.now() + kPause >= until) return answer;
    clock_.sleep(kPause);
  }
}

}  // namespace once::events

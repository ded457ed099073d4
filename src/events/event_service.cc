#include "events/event_service.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "events/answers.h"

namespace once::events {
namespace {

// How long the store may take to grant a claim, and to record an event forwarded without one.
constexpr Duration kCheckWithin = std::chrono::seconds(10);
constexpr Duration kUnguardedWithin = std::chrono::seconds(2);

// A full driver is tried again, because the handler has acted already.
constexpr int kDriverTries = 5;
constexpr PauseBounds kDriverPauses{
    .shortest = Duration(50), .first = Duration(150), .longest = Duration(150)};

bool is_accepted(const Result<Response>& answer) {
  return answer && answer->status >= 200 && answer->status < 300;
}

Response refusal(const EventWork& work, const Result<Response>& answer) {
  return answer ? handler_refused(work, *answer) : handler_lost(work, answer.error());
}

// As if the events came one after the other: claimed, forwarded after those that wait already, and
// recorded.
Duration patience_for(const EventRequest& request, Duration work) {
  constexpr int kBefore = 4;
  Duration patience = work;
  for (const EventPart& part : request.parts) {
    const auto* event = std::get_if<SharedWork>(&part);
    if (event == nullptr) continue;
    patience += work;
    if ((*event)->forwards()) patience += work + (1 + kBefore) * (*event)->route.timeout;
  }
  return patience;
}

}  // namespace

EventService::EventService(BatchingDriver& driver, EventOptions options, Clock& clock)
    : driver_(driver),
      options_(std::make_shared<const EventOptions>(std::move(options))),
      clock_(clock),
      forwarder_(this->options()->tls) {
  prepare_forwards(this->options()->routes);
  counts_.set_routes(this->options()->routes);
}

void EventService::prepare_forwards(const EventRoutes& routes) {
  std::optional<Duration> shortest;
  std::size_t forwarding = 0;
  for (const EventRoute& route : routes) {
    if (route.forward.empty()) continue;
    shortest = std::min(shortest.value_or(route.lease), route.lease);
    ++forwarding;
  }
  if (!shortest) return;
  if (leases_) return leases_->expect(*shortest);
  leases_.emplace(driver_, clock_, *shortest);
  const std::shared_ptr<const EventOptions> now = options();
  // A route leaves some of its namespace's share to the others.
  const unsigned route_share = forwarding > 1 ? now->share * now->share / 100 : 100;
  forwards_.emplace(WorkQueueOptions{.threads = now->forwards,
                                     .max_waiting = 4 * now->forwards,
                                     .share = now->share,
                                     .part_share = route_share},
                    [this] { return [this](const Job& job) { forward(job); }; });
  may_forward_ = true;
}

// Events of the old routes may be under way: each has a copy of its route, and forwarding stays
// possible when no route forwards any more. The share of a route stays that of the first routes.
void EventService::set_routes(EventRoutes routes) {
  prepare_forwards(routes);
  counts_.set_routes(routes);
  auto fresh = std::make_shared<EventOptions>(*options());
  fresh->routes = std::move(routes);
  options_.store(std::move(fresh));
}

void EventService::stop() {
  stopping_ = true;
  forwarder_.stop();
  if (forwards_) forwards_->finish();
  if (leases_) leases_->stop();
}

api::Answer EventService::receive(api::Call& call) {
  const std::shared_ptr<const EventOptions> options = this->options();
  auto request = parse_event_request(call, *options);
  if (!request) return std::move(request.error());
  const Duration patience = patience_for(*request, options->work);
  return api::Deferred{patience, [this, request = std::move(*request)](
                                     ForwardContext context, api::Deferred::Done done) mutable {
                         start(std::move(request), std::move(context), std::move(done));
                       }};
}

void EventService::start(EventRequest request, ForwardContext context, Delivery::Done done) {
  const auto delivery =
      std::make_shared<Delivery>(std::move(request), std::move(context), std::move(done));
  advance(delivery);
  delivery->end_if_done();
}

void EventService::advance(const std::shared_ptr<Delivery>& delivery) {
  while (const std::optional<std::size_t> index = delivery->next()) {
    Job job;
    job.delivery = delivery;
    job.index = *index;
    job.since = std::chrono::steady_clock::now();
    begin(std::move(job));
  }
}

// While stopping, the driver would never answer.
void EventService::begin(Job job) {
  if (stopping_) return answered(job, too_many(*job.work()));
  if (job.work()->forwards()) {
    admit(std::move(job));
  } else {
    process(std::move(job));
  }
}

void EventService::process(Job job) {
  const auto shared = std::make_shared<Job>(std::move(job));
  Plan<Response> plan = events::process(shared->work(), [shared] {
    shared->check = std::chrono::steady_clock::now() - shared->since;
  });
  const Result<void> started =
      driver_.start<Response>(std::move(plan), [this, shared](Result<Response> outcome) {
        end(*shared,
            outcome ? std::move(*outcome) : not_recorded(*shared->work(), outcome.error(), false));
        advance(shared->delivery);
      });
  if (!started) answered(*shared, too_many(*shared->work()));
}

void EventService::admit(Job job) {
  job.asked = clock_.now();
  const auto shared = std::make_shared<Job>(std::move(job));
  const Result<void> started = driver_.start<Admission>(events::admit(shared->work()),
                                                        [this, shared](Result<Admission> outcome) {
                                                          on_admitted(*shared, std::move(outcome));
                                                          advance(shared->delivery);
                                                        },
                                                        {.patience = kCheckWithin});
  if (!started) answered(*shared, too_many(*shared->work()));
}

void EventService::on_admitted(Job job, Result<Admission> outcome) {
  job.check = std::chrono::steady_clock::now() - job.since;
  const EventWork& work = *job.work();
  Admission admission = outcome ? std::move(*outcome) : without_store(work, outcome.error());
  if (auto* answer = std::get_if<Response>(&admission)) return end(job, std::move(*answer));
  if (auto* passed = std::get_if<WithoutClaim>(&admission)) {
    job.error = std::move(passed->error);
  } else {
    job.claimed = std::get<Claimed>(std::move(admission));
    job.lease = leases_->hold(claims::claim_key(work.name_space, work.claim), job.claimed->ticket,
                              work.route.lease, job.asked);
  }
  enqueue(std::move(job));
}

void EventService::enqueue(Job job) {
  const EventWork& work = *job.work();
  if (!forwards_->put(job, {work.name_space, work.name_space + "/" + work.route.type})) {
    turn_away(std::move(job));
  }
}

// Releases the claim, so that the next delivery need not wait for the lease to end.
void EventService::turn_away(Job job) {
  const auto shared = std::make_shared<Job>(std::move(job));
  Response refused = too_many(*shared->work());
  if (!shared->claimed || stopping_) return end(*shared, std::move(refused));
  const Result<void> started = driver_.start<Response>(
      release(shared->work(), *shared->claimed, refused), [this, shared](Result<Response> outcome) {
        end(*shared, outcome ? std::move(*outcome) : too_many(*shared->work()));
        advance(shared->delivery);
      });
  if (!started) end(*shared, std::move(refused));
}

void EventService::end(const Job& job, Response answer) {
  if (job.claimed) leases_->let_go(job.lease);
  if (job.check.count() > 0) answer.telemetry.check_duration = job.check;
  answered(job, std::move(answer));
}

void EventService::answered(const Job& job, Response answer) {
  counts_.count(job.work()->route.type, answer);
  job.delivery->answered(job.index, std::move(answer));
}

void EventService::forward(const Job& job) {
  const Claimed* const claimed = job.claimed ? &*job.claimed : nullptr;
  const Result<Response> answer = forwarder_.send(*job.work(), claimed, job.delivery->context());
  end(job, claimed != nullptr ? conclude(job, answer) : conclude_unclaimed(job, answer));
  advance(job.delivery);
}

Response EventService::conclude(const Job& job, const Result<Response>& answer) {
  const SharedWork& work = job.work();
  if (is_accepted(answer)) {
    std::optional<LogMutexes::Guard> guard;
    if (work->records()) guard.emplace(log_mutexes_, work->name_space + "/" + work->route.log);
    Result<Response> concluded =
        run([&] { return events::conclude(work, *job.claimed, answer->status); }, kAttemptLife);
    return concluded ? std::move(*concluded) : not_recorded(*work, concluded.error(), true);
  }
  Response refused = refusal(*work, answer);
  Result<Response> released =
      run([&] { return release(work, *job.claimed, refused); }, kCheckWithin);
  return released ? std::move(*released) : std::move(refused);
}

Response EventService::conclude_unclaimed(const Job& job, const Result<Response>& answer) {
  const SharedWork& work = job.work();
  if (!is_accepted(answer)) {
    Response refused = refusal(*work, answer);
    refused.telemetry.ignored_error = api::Outcome::unavailable;
    return refused;
  }
  Result<Response> recorded = driver_.run(record_unguarded(work, *job.error), kUnguardedWithin);
  if (recorded) return std::move(*recorded);
  return unguarded(*work, *job.error, work->records() ? AllDone::no : AllDone::yes);
}

// Safe to repeat: the ticket allows one completion. Not repeated while stopping.
Result<Response> EventService::run(const std::function<Plan<Response>()>& make, Duration patience) {
  const Time until = later(clock_.now(), patience);
  Backoff backoff(kDriverPauses, clock_, system_entropy(), until);
  for (int tries = 1;; ++tries) {
    Result<Response> answer = driver_.run(make(), until - clock_.now());
    const bool is_last = tries == kDriverTries;
    if (answer || is_last || answer.error().code != ErrorCode::unavailable) return answer;
    if (stopping_ || !backoff.pause()) return answer;
  }
}

}  // namespace once::events

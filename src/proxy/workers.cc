#include "proxy/workers.h"

#include <exception>
#include <utility>

#include "wire/problem.h"

namespace once::proxy {
namespace {

Party party_of(const api::Request& request) {
  if (request.peer.connection == 0) return {};
  return {std::to_string(request.peer.address), std::to_string(request.peer.connection)};
}

// The client always gets an answer. If something throws, a claim that was taken stays: its request
// may have been sent, and its outcome is unknown once its time is over.
void answer_with(Exchange& exchange, const api::Request& request, server::ReplyCallback& done) {
  bool begun = false;
  Exchange::Answer answer;
  try {
    answer = exchange.answer(request, [&](api::Response head, server::ReplyCallback::Body rest) {
      begun = true;
      done(std::move(head), std::move(rest));
    });
  } catch (const std::exception& error) {
    answer = api::Problem(api::Code::unknown, error.what()).status(502).finish();
  }
  if (answer && !begun) done(std::move(*answer));
}

}  // namespace

// Many clients may share an address, so only a connection has a share of the workers.
Workers::Workers(const WorkersOptions& options, std::function<std::unique_ptr<Exchange>()> make)
    : make_(std::move(make)),
      queue_({.threads = options.workers,
              .max_waiting = 4 * options.workers,
              .max_stalled = options.slow_readers,
              .share = 100},
             [this] {
               const std::shared_ptr<Exchange> exchange = make_();
               exchange->report_to(*this);
               return [exchange](Job job) { answer_with(*exchange, job.request, job.done); };
             }) {}

bool Workers::begin(const api::Request& request) {
  if (queue_.stall(party_of(request))) return true;
  ++cut_off_;
  return false;
}
void Workers::end(const api::Request& request) { queue_.go_on(party_of(request)); }

server::Reply Workers::respond(api::Request request, Executor&, ReplyCallback later) {
  Party party = party_of(request);
  Job job{std::move(request), std::move(later)};
  if (queue_.put(job, std::move(party))) return server::Awaited{};
  return api::problem(api::Code::overloaded, "too many requests wait for the upstream");
}

}  // namespace once::proxy

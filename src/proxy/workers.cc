#include "proxy/workers.h"

#include <exception>
#include <utility>

#include "wire/problem.h"

namespace once::proxy {
namespace {

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

Workers::Workers(std::size_t count, const std::function<std::unique_ptr<Exchange>()>& make)
    : queue_(count, 4 * count, [&make] {
        const std::shared_ptr<Exchange> exchange = make();
        return [exchange](Job job) { answer_with(*exchange, job.request, job.done); };
      }) {}

server::Reply Workers::respond(api::Request request, Executor&, ReplyCallback later) {
  Job job{std::move(request), std::move(later)};
  if (queue_.put(job)) return server::Awaited{};
  return api::problem(api::Code::overloaded, "too many requests wait for the upstream");
}

}  // namespace once::proxy

#include "proxy/workers.h"

#include <utility>

#include "api/problem.h"

namespace once::proxy {

Workers::Workers(std::size_t count, const std::function<std::unique_ptr<Exchange>()>& make)
    : queue_(count, 4 * count, [&make] {
        const std::shared_ptr<Exchange> exchange = make();
        return [exchange](Job job) { job.done(exchange->answer(job.request)); };
      }) {}

std::optional<api::Response> Workers::respond(api::Request request, Done later) {
  Job job{std::move(request), std::move(later)};
  if (queue_.put(job)) return std::nullopt;
  return api::problem(api::Code::overloaded, "too many requests wait for the upstream");
}

}  // namespace once::proxy

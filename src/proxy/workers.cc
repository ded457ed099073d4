#include "proxy/workers.h"

#include <utility>

#include "api/problem.h"

namespace once::proxy {

Workers::Workers(std::size_t count, const std::function<std::unique_ptr<Exchange>()>& make)
    : max_waiting_(4 * count) {
  for (std::size_t i = 0; i < count; ++i) exchanges_.push_back(make());
  for (const auto& exchange : exchanges_) {
    threads_.emplace_back([this, &exchange] { work(*exchange); });
  }
}

void Workers::finish() {
  {
    const Lock lock(mutex_);
    ending_ = true;
  }
  signal_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::optional<api::Response> Workers::respond(api::Request request, Home&, Done later) {
  {
    const Lock lock(mutex_);
    if (ending_ || waiting_.size() >= max_waiting_) {
      return api::problem(api::Code::overloaded, "too many requests wait for the upstream");
    }
    waiting_.push_back({std::move(request), std::move(later)});
  }
  signal_.notify_one();
  return std::nullopt;
}

std::optional<Workers::Job> Workers::next() {
  Lock lock(mutex_);
  while (!ending_ && waiting_.empty()) signal_.wait(lock.native());
  if (waiting_.empty()) return std::nullopt;
  Job job = std::move(waiting_.front());
  waiting_.pop_front();
  return job;
}

void Workers::work(Exchange& exchange) {
  while (std::optional<Job> job = next()) job->done(exchange.answer(job->request));
}

}  // namespace once::proxy

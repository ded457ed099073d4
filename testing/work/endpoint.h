// An HTTP endpoint of this process that handles events. Their effects are in its answers: for each
// one a tally of its own, m-ID; or, for a store that commits one write at a time, only its result.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/server.h"

namespace once::testing {

class Endpoint final : public server::Handler {
 public:
  enum class Gives { tallies, results };

  explicit Endpoint(Gives gives) : gives_(gives) {
    const Result<std::string> url = server_.listen("127.0.0.1:0");
    if (!url) std::abort();
    url_ = *url;
  }
  ~Endpoint() override { server_.stop(); }

  const std::string& url() const { return url_; }

  // Answers nobody until release().
  void hold() {
    const std::lock_guard lock(mutex_);
    holding_ = true;
  }
  void release() {
    std::vector<std::pair<server::ReplyCallback, std::string>> held;
    {
      const std::lock_guard lock(mutex_);
      holding_ = false;
      held.swap(held_);
    }
    for (auto& [done, id] : held) done(answer(id));
  }

  // Waits for so many requests; repeated ones count.
  bool await(int requests, std::chrono::seconds within) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, within, [&] { return requests_ >= requests; });
  }

  server::Reply respond(api::Request request, Executor&, ReplyCallback later) override {
    constexpr std::string_view kBefore = "\"id\":\"";
    const std::size_t from = request.body.find(kBefore) + kBefore.size();
    std::string id = request.body.substr(from, request.body.find('"', from) - from);
    const std::lock_guard lock(mutex_);
    ++requests_;
    came_.notify_all();
    if (!holding_) return answer(id);
    held_.emplace_back(std::move(later), std::move(id));
    return server::Awaited{};
  }

 private:
  api::Response answer(const std::string& id) const {
    api::Response response;
    response.headers.add("Content-Type", "application/vnd.once.effects+json");
    response.body = gives_ == Gives::results
                        ? R"({"result":")" + id + "\"}"
                        : R"({"tallies":[{"key":"m-)" + id + R"(","kind":"sum","add":1}]})";
    return response;
  }

  const Gives gives_;
  std::mutex mutex_;
  std::condition_variable came_;
  int requests_ = 0;
  bool holding_ = false;
  std::vector<std::pair<server::ReplyCallback, std::string>> held_;
  std::string url_;
  server::Server server_{{.threads = 1}, *this};
};

}  // namespace once::testing

#include "proxy/workers.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "once/local.h"
#include "once/memory_store.h"
#include "stores/decorators/decorator.h"

namespace once::proxy {
namespace {

class Nowhere final : public Executor {
 public:
  void post(std::move_only_function<void()>) override {}
};

api::Response asked(Workers& workers, const std::string& key) {
  api::Request request{"POST", "/", {}, "b"};
  request.headers.add("Idempotency-Key", key);
  std::promise<api::Response> answer;
  Nowhere executor;
  const auto now = workers.respond(std::move(request), executor, [&](api::Response response) {
    answer.set_value(std::move(response));
  });
  EXPECT_TRUE(std::holds_alternative<server::Awaited>(now));
  return answer.get_future().get();
}

// Every call throws, as one does that finds no memory.
class OutOfSomething final : public Decorator<Store> {
 public:
  using Decorator::Decorator;

 protected:
  Result<std::vector<std::optional<Item>>> do_get(std::span<const Key>) override {
    throw std::runtime_error("out of something");
  }
};

TEST(Workers, WhatThrowsIsAnsweredAndTheOthersGoOn) {
  metrics::AnswerMetrics metrics(metrics::Door::proxy);
  server::Journal journal({});
  ProxyTelemetry telemetry(metrics, journal);
  const std::unique_ptr<MemoryStore> memory = open_memory();
  OutOfSomething store(*memory);
  LocalClaims claims(store);
  Workers workers({.workers = 1}, [&] {
    return std::make_unique<Exchange>(Rules{.upstream = "http://127.0.0.1:1"},
                                      KeyRecords(claims, {}), telemetry);
  });
  for (const char* key : {"a", "b"}) {
    const api::Response answer = asked(workers, key);
    EXPECT_EQ(answer.status, 502);
    EXPECT_NE(answer.body.find("out of something"), std::string::npos) << answer.body;
  }
}

}  // namespace
}  // namespace once::proxy

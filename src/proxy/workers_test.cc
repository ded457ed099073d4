#include "proxy/workers.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

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

TEST(Workers, WhatThrowsIsAnsweredAndTheOthersGoOn) {
  api::Metrics metrics(api::Door::proxy);
  server::Journal journal({});
  ProxyTelemetry telemetry(metrics, journal);
  Workers workers(1, [&] {
    KeyRecords ledger(
        [](const api::Request&) -> Result<api::Response> {
          throw std::runtime_error("out of something");
        },
        {});
    return std::make_unique<Exchange>(Rules{.upstream = "http://127.0.0.1:1"}, std::move(ledger),
                                      telemetry);
  });
  for (const char* key : {"a", "b"}) {
    const api::Response answer = asked(workers, key);
    EXPECT_EQ(answer.status, 502);
    EXPECT_NE(answer.body.find("out of something"), std::string::npos) << answer.body;
  }
}

}  // namespace
}  // namespace once::proxy

// The API on a memory store, in time that tests move.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "api/service.h"
#include "once/blocking_driver.h"
#include "once/memory_store.h"
#include "testing/manual_clock.h"
#include "wire/json.h"

namespace once::api {

class ServiceFixture : public ::testing::Test {
 protected:
  explicit ServiceFixture(ServiceOptions options = {})
      : service_(with_clock(std::move(options), clock_)) {}

  static ServiceOptions with_clock(ServiceOptions options, Clock& clock) {
    options.clock = &clock;
    return options;
  }

  Response call(std::string method, std::string target, std::string body = "",
                std::vector<Headers::Field> headers = {}) {
    Request request{std::move(method), std::move(target), {}, std::move(body)};
    for (auto& [name, value] : headers) request.headers.add(name, value);
    Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<Response>(&answer)) return std::move(*ready);
    const Duration patience = answer.patience(kAttemptLife);
    auto ran = driver_.run(std::get<Plan<Response>>(std::move(answer)), patience);
    return ran ? std::move(*ran) : Service::failed(ran.error());
  }
  Response post(std::string target, std::string body) {
    return call("POST", std::move(target), std::move(body));
  }
  Response get(std::string target) { return call("GET", std::move(target)); }

  // A field of the answer's body: a string as it is, anything else as JSON, "" if it is not there.
  static std::string field(const Response& response, std::string_view name) {
    const Result<Json> body = parse_json(response.body);
    if (!body) return "";
    Json value;
    if (body->at_key(name).get(value) != simdjson::SUCCESS) return "";
    std::string_view text;
    return value.get(text) == simdjson::SUCCESS ? std::string(text) : to_line(value);
  }

  void expect_problem(const Response& response, int status, std::string_view code) {
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_EQ(response.headers.find("Content-Type"), "application/problem+json");
    EXPECT_EQ(field(response, "code"), code) << response.body;
    EXPECT_EQ(field(response, "status"), std::to_string(status));
    EXPECT_NE(field(response, "title"), "");
    EXPECT_NE(field(response, "detail"), "");
  }
  static bool is_replayed(const Response& response) {
    return response.headers.find("Idempotent-Replayed") == "true";
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> store_ = open_memory({}, clock_);
  BlockingDriver driver_{*store_, clock_, entropy_};
  Service service_;
};

}  // namespace once::api

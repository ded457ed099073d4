// What is counted, and as what. The server counts each answer as it goes out; here that is done by
// hand.
#include "metrics/answer_metrics.h"

#include "api/routes.h"
#include "api/service_fixture.h"
#include "once/faulty_store.h"

namespace once::api {
namespace {

using namespace std::chrono_literals;

class ApiMetrics : public ServiceFixture {
 protected:
  Response counted(const std::string& method, const std::string& target,
                   const std::string& body = "", std::vector<Headers::Field> headers = {}) {
    Response response = call(method, target, body, std::move(headers));
    service_.metrics().answered(subject_of(method, target), response, 2ms);
    return response;
  }

  // The value of a sample, such as `n_total{a="b"}`; -1 if it is missing.
  double value(const std::string& sample) {
    const std::string text = "\n" + get("/metrics").body;
    const std::size_t at = text.find("\n" + sample + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + sample.size() + 2));
  }
  double outcomes(const std::string& primitive, const std::string& outcome) {
    return value("once_outcomes_total{primitive=\"" + primitive + "\",outcome=\"" + outcome +
                 "\"}");
  }
  double operations(const std::string& operation) {
    return value("idempotency_cache_operations_total{operation=\"" + operation + "\"}");
  }
};

TEST_F(ApiMetrics, AreTextForPrometheus) {
  const Response response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.find("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(ApiMetrics, EachAnswerToAClaimIsAnOutcome) {
  const Response first = counted("POST", "/v1/claims/a", R"({"payload":"x"})");
  counted("POST", "/v1/claims/a", R"({"payload":"x"})");
  counted("POST", "/v1/claims/a", R"({"payload":"y"})");
  counted("POST", "/v1/claims/a/complete", R"({"ticket":")" + field(first, "ticket") + "\"}");
  counted("POST", "/v1/claims/a/complete", R"({"ticket":")" + field(first, "ticket") + "\"}");
  counted("POST", "/v1/claims/a", R"({"payload":"x"})");
  counted("POST", "/v1/claims/b/complete", R"({"ticket":")" + field(first, "ticket") + "\"}");
  counted("POST", "/v1/claims/a", "{");
  counted("GET", "/v1/claims/a");
  EXPECT_EQ(outcomes("claims", "executed"), 2);
  EXPECT_EQ(outcomes("claims", "busy"), 1);
  EXPECT_EQ(outcomes("claims", "mismatch"), 1);
  EXPECT_EQ(outcomes("claims", "replayed"), 2);
  EXPECT_EQ(outcomes("claims", "fenced"), 1);
  EXPECT_EQ(outcomes("claims", "invalid"), 1);
  EXPECT_EQ(outcomes("claims", "read"), 1);
  EXPECT_EQ(value("duplicate_events_skipped_total{event_type=\"claims\"}"), 1);
  EXPECT_EQ(value("validation_errors_total{event_type=\"claims\"}"), 1);
  EXPECT_EQ(operations("check"), 4);
  EXPECT_EQ(operations("mark"), 1);
  EXPECT_EQ(value("idempotency_check_duration_seconds_count"), 4);
  EXPECT_EQ(value("idempotency_check_duration_seconds_bucket{le=\"0.001\"}"), 0);
  EXPECT_EQ(value("idempotency_check_duration_seconds_bucket{le=\"0.01\"}"), 4);
}

TEST_F(ApiMetrics, AClaimThatWasTakenOverIsToldFromAFirstOne) {
  counted("POST", "/v1/claims/a", R"({"lease":"1s"})");
  clock_.advance(1min);
  EXPECT_EQ(counted("POST", "/v1/claims/a", R"({"lease":"1s"})").status, 201);
  EXPECT_EQ(outcomes("claims", "executed"), 1);
  EXPECT_EQ(outcomes("claims", "taken_over"), 1);
}

TEST_F(ApiMetrics, WhoeverWaitsForAnotherHolderIsNotMeasured) {
  counted("POST", "/v1/claims/a", R"({"wait":"1s"})");
  EXPECT_EQ(operations("check"), 1);
  EXPECT_EQ(value("idempotency_check_duration_seconds_count"), 0);
}

TEST_F(ApiMetrics, ADuplicateKnowsWhenTheOriginalHappened) {
  const Time start = clock_.now();
  const Response first = call("POST", "/v1/claims/a");
  clock_.advance(1s);
  EXPECT_EQ(call("POST", "/v1/claims/a").telemetry.original, start);
  call("POST", "/v1/claims/a/complete", R"({"ticket":")" + field(first, "ticket") + "\"}");
  clock_.advance(1s);
  EXPECT_EQ(call("POST", "/v1/claims/a").telemetry.original, start + 1s);
}

TEST_F(ApiMetrics, SeenCountsItsIds) {
  counted("POST", "/v1/seen", R"({"ids":["a","b","a"]})");
  counted("POST", "/v1/seen", R"({"ids":["b","c"]})");
  EXPECT_EQ(operations("check"), 5);
  EXPECT_EQ(operations("mark"), 3);
  EXPECT_EQ(value("duplicate_events_skipped_total{event_type=\"seen\"}"), 2);
  EXPECT_EQ(value("idempotency_check_duration_seconds_count"), 2);
}

TEST_F(ApiMetrics, FreedAndForgottenKeysAreRemovals) {
  const Response first = counted("POST", "/v1/claims/a");
  counted("POST", "/v1/claims/a/release", R"({"ticket":")" + field(first, "ticket") + "\"}");
  counted("POST", "/v1/seen", R"({"ids":["b"]})");
  counted("DELETE", "/v1/seen/b");
  counted("DELETE", "/v1/claims/nothing");
  EXPECT_EQ(operations("remove"), 2);
}

TEST_F(ApiMetrics, ALostRaceForADocumentIsAConflict) {
  counted("PUT", "/v1/docs/a", "{}", {{"If-None-Match", "*"}});
  counted("PUT", "/v1/docs/a", "{}", {{"If-None-Match", "*"}});
  counted("PATCH", "/v1/docs/a", R"({"b":1})", {{"Content-Type", "application/merge-patch+json"}});
  counted("GET", "/v1/docs/a");
  EXPECT_EQ(value("once_doc_conflicts_total"), 1);
  EXPECT_EQ(value("once_doc_update_seconds_count"), 3);
  EXPECT_EQ(outcomes("documents", "executed"), 2);
  EXPECT_EQ(outcomes("documents", "precondition_failed"), 1);
}

TEST_F(ApiMetrics, ARetryEitherSucceedsOrFails) {
  metrics::AnswerMetrics& metrics = service_.metrics();
  const Subject subject = subject_of("PATCH", "/v1/docs/a");
  metrics.answered(subject, {200, {}, "", {.conflicts = 2}}, 1ms);
  metrics.answered(subject, {409, {}, "", {.outcome = Outcome::contended, .conflicts = 9}}, 1ms);
  EXPECT_EQ(value("once_doc_conflicts_total"), 11);
  EXPECT_EQ(value("once_doc_retry_success_total"), 1);
  EXPECT_EQ(value("once_doc_retry_failed_total"), 1);
}

TEST_F(ApiMetrics, AnErrorOfTheStoreIsCountedByItsReason) {
  EXPECT_EQ(value("idempotency_errors_total{reason=\"unavailable\"}"), 0);
  const Response failed = Service::failed({ErrorCode::unavailable, "down"});
  service_.metrics().answered(subject_of("POST", "/v1/claims/a"), failed, 1ms);
  EXPECT_EQ(value("idempotency_errors_total{reason=\"unavailable\"}"), 1);
  EXPECT_EQ(value("once_http_responses_total{status=\"503\"}"), 1);
}

TEST_F(ApiMetrics, AnEventIsCountedByItsTypeAndTypesAreBounded) {
  metrics::AnswerMetrics& metrics = service_.metrics();
  const Subject subject = subject_of("POST", "/v1/events");
  for (int i = 0; i < 1'000; ++i) {
    metrics.answered(subject,
                     {200, {}, "", {.event_type = "t" + std::to_string(i), .duplicates = 1}}, 1ms);
  }
  EXPECT_EQ(value("duplicate_events_skipped_total{event_type=\"t0\"}"), 1);
  EXPECT_GE(value("duplicate_events_skipped_total{event_type=\"other\"}"), 800);
}

TEST_F(ApiMetrics, NeedATokenThatMayReadWhereTokensAreConfigured) {
  const Response made = call("POST", "/v1/tokens", R"({"read_only":true})");
  ASSERT_EQ(made.status, 201) << made.body;
  expect_problem(get("/metrics"), 401, "unauthorized");
  EXPECT_EQ(
      call("GET", "/metrics", "", {{"Authorization", "Bearer " + field(made, "token")}}).status,
      200);
}

}  // namespace
}  // namespace once::api

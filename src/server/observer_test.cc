#include "server/observer.h"

#include <gtest/gtest.h>

#include <vector>

#include "api/routes.h"
#include "wire/problem.h"

namespace once::server {
namespace {

using api::Outcome;
using api::Request;
using api::Response;

constexpr std::string_view kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class ObserverTest : public ::testing::Test {
 protected:
  static Request request(std::string method, std::string target,
                         std::vector<api::Headers::Field> headers = {}) {
    Request made{std::move(method), std::move(target), {}, "secret payload"};
    for (auto& [name, value] : headers) made.headers.add(name, value);
    return made;
  }
  static metrics::Subject subject_of(const Request& request) {
    return api::subject_of(request.method, request.target);
  }
  Response pass(const Request& request, Response response = {}) {
    observer_.answered(observer_.begin(request, subject_of(request)), response);
    return response;
  }
  std::string id_for(const Request& request) {
    return std::string(pass(request).headers.find("X-Request-Id").value_or(""));
  }
  bool wrote(std::string_view part) const { return written_.find(part) != std::string::npos; }

  std::string written_;
  metrics::AnswerMetrics metrics_;
  Journal journal_{{.least = Level::info, .write = [this](std::string_view line) {
                      written_ += line;
                      return true;
                    }}};
  Observer observer_{metrics_, journal_, "0123456789abcdef"};
};

TEST_F(ObserverTest, ARequestKeepsItsIdAndAnAnswerSaysIt) {
  EXPECT_EQ(id_for(request("GET", "/", {{"x-request-id", "Abc-1.2_3:4/5"}})), "Abc-1.2_3:4/5");
}

TEST_F(ObserverTest, ARequestWithoutASaneIdGetsOneOfItsOwn) {
  const std::string first = id_for(request("GET", "/"));
  EXPECT_EQ(first.substr(0, 9), "01234567-");
  for (const std::string& odd :
       {std::string(""), std::string("a b"), std::string("a\"b"), std::string(129, 'a')}) {
    const std::string made = id_for(request("GET", "/", {{"X-Request-Id", odd}}));
    EXPECT_NE(made, odd);
    EXPECT_NE(made, first);
  }
}

TEST_F(ObserverTest, AnOrdinaryRequestIsNotNotedDown) {
  pass(request("POST", "/v1/claims/a"), {201, {}, "{}"});
  EXPECT_EQ(written_, "");
}

TEST_F(ObserverTest, ADuplicateIsNotedWithTheOriginalsTimeAndTheReason) {
  const Time original = Time(std::chrono::milliseconds(1'500));
  const Request again = request("POST", "/v1/claims/a?token=hidden",
                                {{"X-Request-Id", "r1"},
                                 {"Authorization", "Bearer hidden"},
                                 {"traceparent", std::string(kParent.substr(0, 53)) + "00"}});
  Response done = api::replayed(api::json_response(200, "{}"));
  done.telemetry.original = original;
  pass(again, done);
  EXPECT_TRUE(
      wrote("info duplicate reason=already_done path=/v1/claims/a "
            "original=1970-01-01T00:00:01.500Z request_id=r1 "
            "trace_id=4bf92f3577b34da6a3ce929d0e0e4736\n"))
      << written_;
  pass(again, {409, {}, "", {.outcome = Outcome::busy, .original = original}});
  EXPECT_TRUE(wrote("reason=already_processing path=/v1/claims/a original=1970"));
  pass(again, {412, {}, "", {.outcome = Outcome::fenced}});
  EXPECT_TRUE(wrote("reason=race_condition_prevented"));
  EXPECT_FALSE(wrote("hidden"));
  EXPECT_FALSE(wrote("secret"));
}

TEST_F(ObserverTest, FailuresAndRefusalsAreNoted) {
  pass(request("POST", "/v1/seen"), api::problem(Error{ErrorCode::corrupt, "bad bytes"}));
  EXPECT_TRUE(wrote("error failed method=POST path=/v1/seen status=500 code=corrupt"));
  pass(request("POST", "/v1/seen"), api::problem(api::Code::overloaded, "full"));
  EXPECT_TRUE(wrote("warning refused method=POST path=/v1/seen status=503 code=overloaded"));
  Response refusal = api::problem(api::Code::invalid, "not HTTP");
  observer_.refused(refusal);
  EXPECT_TRUE(wrote("info refused status=400"));
  EXPECT_TRUE(refusal.headers.find("X-Request-Id"));
}

TEST_F(ObserverTest, ARecordedTraceGetsASpanWithItsNameAndItsDuration) {
  pass(request("POST", "/v1/claims/a", {{"traceparent", std::string(kParent)}}),
       {201, {}, "", {.checked = 1}});
  EXPECT_TRUE(
      wrote("info span span=idempotency_check trace_id=4bf92f3577b34da6a3ce929d0e0e4736 "
            "parent_id=00f067aa0ba902b7 span_id="))
      << written_;
  EXPECT_TRUE(wrote(" outcome=executed duration_ms="));
  pass(request("POST", "/v1/events", {{"traceparent", std::string(kParent)}}));
  EXPECT_TRUE(wrote("span=process_cloud_event"));
  pass(request("GET", "/v1/docs/a", {{"traceparent", std::string(kParent)}}));
  EXPECT_TRUE(wrote("span=documents"));
}

TEST_F(ObserverTest, AnEventHasASpanForItsCheckWithinThatForItself) {
  const Request asking = request("POST", "/v1/events", {{"traceparent", std::string(kParent)}});
  const RequestContext context = observer_.begin(asking, subject_of(asking));
  ASSERT_EQ(context.span_id.size(), 16U);
  Response response{200, {}, "", {.event_id = "e1", .checked = 1}};
  response.telemetry.check_duration = std::chrono::microseconds(1'500);
  observer_.answered(context, response);
  EXPECT_TRUE(
      wrote("info span span=idempotency_check trace_id=4bf92f3577b34da6a3ce929d0e0e4736 "
            "parent_id=" +
            context.span_id + " span_id="))
      << written_;
  EXPECT_TRUE(wrote(" duration_ms=1.500 event_id=e1 "));
  EXPECT_TRUE(
      wrote("span=process_cloud_event trace_id=4bf92f3577b34da6a3ce929d0e0e4736 "
            "parent_id=00f067aa0ba902b7 span_id=" +
            context.span_id));
}

TEST_F(ObserverTest, EachDuplicateOfABatchIsNotedWithTheTimeOfItsOriginal) {
  Response batch{200, {}, "[]", {}};
  const Time noon = Time(std::chrono::days(20'000)) + std::chrono::hours(12);
  batch.telemetry.parts = {
      {.original = noon, .event_type = "a", .event_id = "1", .checked = 1, .duplicates = 1},
      {.event_type = "a", .event_id = "2", .checked = 1, .marked = 1},
      {.outcome = Outcome::busy, .event_type = "b", .event_id = "3", .checked = 1},
      {.outcome = Outcome::handler_failed, .event_type = "c", .event_id = "4", .checked = 1}};
  pass(request("POST", "/v1/events"), batch);
  EXPECT_TRUE(
      wrote("info duplicate reason=already_done path=/v1/events "
            "original=2024-10-04T12:00:00.000Z event_type=a event_id=1 "))
      << written_;
  EXPECT_FALSE(wrote("event_id=2"));
  EXPECT_TRUE(wrote("info duplicate reason=already_processing path=/v1/events event_type=b"));
  EXPECT_TRUE(
      wrote("warning refused method=POST path=/v1/events status=200 code=handler_failed "
            "event_type=c event_id=4"));
}

TEST_F(ObserverTest, AStoreThatWasPassedByIsAnError) {
  Response passed{200, {}, "", {.outcome = Outcome::unguarded, .event_type = "a", .checked = 1}};
  passed.telemetry.ignored_error = Outcome::unavailable;
  pass(request("POST", "/v1/events"), passed);
  EXPECT_TRUE(wrote("error failed method=POST path=/v1/events status=200 code=unavailable"));
}

TEST(Trace, IsReadAsTheStandardSays) {
  const auto trace = parse_traceparent(kParent);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(trace->parent_id, "00f067aa0ba902b7");
  EXPECT_TRUE(trace->sampled);
  EXPECT_FALSE(
      parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02")->sampled);
  EXPECT_TRUE(parse_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0b-more"));
}

TEST(Trace, ThatIsNoneIsAsIfItWereNotThere) {
  for (const std::string_view bad :
       {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}) {
    EXPECT_FALSE(parse_traceparent(bad)) << bad;
  }
}

}  // namespace
}  // namespace once::server

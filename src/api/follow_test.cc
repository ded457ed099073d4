#include "api/follow.h"

#include "api/service_fixture.h"
#include "once/local.h"
#include "wire/log.h"
#include "wire/text.h"

namespace once::api {
namespace {

class ApiFollow : public ServiceFixture {
 protected:
  std::expected<std::optional<Following>, Response> following(
      std::string target, std::vector<Headers::Field> headers = {}, std::string method = "GET") {
    Request request{std::move(method), std::move(target), {}, ""};
    for (auto& [name, value] : headers) request.headers.add(name, value);
    auto resolved = resolve(service_, request);
    if (!resolved || resolved->route->follow != Follow::possible) return std::nullopt;
    return following_of(resolved->call);
  }
  std::int64_t start(std::string target, std::vector<Headers::Field> headers = {}) {
    const auto wanted = following(std::move(target), std::move(headers));
    return wanted && *wanted ? (*wanted)->from : -1;
  }
};

TEST_F(ApiFollow, AFollowerResumesAfterTheLastEventItWasSent) {
  EXPECT_EQ(start("/v1/logs/s?follow=true"), 1);
  EXPECT_EQ(start("/v1/logs/s?follow=true&from=5"), 5);
  EXPECT_EQ(start("/v1/logs/s?follow=true", {{"Last-Event-ID", "7"}}), 8);
  EXPECT_EQ(start("/v1/logs/s?follow=true&from=5", {{"last-event-id", "7"}}), 8);
  EXPECT_EQ(start("/v1/logs/s?follow=true&from=5", {{"Last-Event-ID", ""}}), 5);
}

TEST_F(ApiFollow, AFollowerBeginsAtATimeUnlessItResumes) {
  const std::string target = "/v1/logs/s?follow=true&since=2026-01-01T00:00:00Z";
  const auto first = following(target);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->since, parse_time("2026-01-01T00:00:00Z"));
  const auto resumed = following(target, {{"Last-Event-ID", "7"}});
  ASSERT_TRUE(resumed && *resumed);
  EXPECT_EQ((*resumed)->since, std::nullopt);
  EXPECT_EQ((*resumed)->from, 8);
}

TEST_F(ApiFollow, EitherTheQueryOrWhatIsAcceptedMakesAFollower) {
  const auto wanted = following("/v1/logs/a%2Fb?from=3",
                                {{"Accept", "text/event-stream"}, {"Once-Namespace", "n"}});
  ASSERT_TRUE(wanted && *wanted);
  EXPECT_EQ((*wanted)->stream, "a/b");
  EXPECT_EQ((*wanted)->name_space, "n");
  EXPECT_EQ((*wanted)->from, 3);
  EXPECT_EQ(start("/v1/logs/s", {{"Accept", "text/html, text/event-stream;q=0.5"}}), 1);
  EXPECT_EQ(start("/v1/logs/s", {{"Accept", "*/*"}}), -1);
  EXPECT_EQ(start("/v1/logs/s?follow=false", {{"Accept", "text/event-stream"}}), -1);
  EXPECT_EQ(start("/v1/logs/s"), -1);
  EXPECT_EQ(start("/v1/logs/s/trim?follow=true"), -1);
  EXPECT_EQ(start("/v1/docs/s?follow=true"), -1);
}

TEST_F(ApiFollow, HeadOfALogIsNoFollower) {
  const auto wanted = following("/v1/logs/s?follow=true", {}, "HEAD");
  ASSERT_TRUE(wanted);
  EXPECT_FALSE(*wanted);
  expect_problem(call("HEAD", "/v1/logs/s?follow=true"), 501, "unsupported");
}

TEST_F(ApiFollow, ABadFollowerIsToldSo) {
  for (const char* query : {"from=-1", "from=x", "limit=0", "limit=x", "order=desc", "since=x",
                            "from=1&since=2026-01-01T00:00:00Z"}) {
    const auto wanted = following(std::string("/v1/logs/s?follow=true&") + query);
    ASSERT_FALSE(wanted) << query;
    expect_problem(wanted.error(), 400, "invalid");
  }
  for (const char* id : {"x", "-1", "1.5", "9223372036854775807", "9223372036854775808"}) {
    const auto wanted = following("/v1/logs/s?follow=true", {{"Last-Event-ID", id}});
    ASSERT_FALSE(wanted) << id;
    expect_problem(wanted.error(), 400, "invalid");
  }
  expect_problem(call("GET", "/v1/logs/s", "", {{"Last-Event-ID", "1"}, {"Last-Event-ID", "2"}}),
                 400, "invalid");
}

TEST_F(ApiFollow, WithoutAServerThereIsNothingToFollow) {
  expect_problem(get("/v1/logs/s?follow=true"), 501, "unsupported");
}

// Every way to read an event gives the same bytes, again and again.
TEST_F(ApiFollow, AnEventIsTheSameBytesHoweverItIsRead) {
  const char* const data[] = {"1",
                              "-0.0",
                              "1e300",
                              "0.1",
                              "5e-324",
                              "1.7976931348623157e308",
                              "18446744073709551615",
                              "\"\\u0000\\n\\u2028 \\\" \xc3\xa4 \xf0\x9f\x98\x80\"",
                              "{\"a\":{\"b\":[1,2,null]},\"a\":2}",
                              "[]",
                              "{}",
                              "\"\"",
                              "100000000000000000000.0",
                              "1E5",
                              "123456789012345680000e-1"};
  std::string ndjson;
  for (const char* line : data) ndjson += std::string(line) + "\n";
  ASSERT_EQ(call("POST", "/v1/logs/s", ndjson, {{"Content-Type", "application/x-ndjson"}}).status,
            201);
  const std::string page = get("/v1/logs/s").body;
  EXPECT_EQ(get("/v1/logs/s").body, page);
  LocalLog log(*store_, "default", LogStrategy::conditional, clock_, entropy_);
  const auto entries = log.read("s");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->events.size(), std::size(data));
  for (const LogEntry& entry : entries->events) {
    const std::string json = event_json(entry);
    EXPECT_NE(page.find(json), std::string::npos) << json;
    EXPECT_EQ(sse_text(entry), "id: " + std::to_string(entry.index) + "\ndata: " + json + "\n\n");
    EXPECT_EQ(json.find('\n'), std::string::npos);
    EXPECT_EQ(stored_as_json(entry.data), entry.data);
  }
}

}  // namespace
}  // namespace once::api

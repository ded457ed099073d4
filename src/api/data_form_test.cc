// Once-Bytes: programs keep bytes, not JSON.
#include "wire/data_form.h"

#include "api/service_fixture.h"

namespace once::api {
namespace {

class ApiBytes : public ServiceFixture {
 protected:
  Response exact(std::string method, std::string target, std::string body = "") {
    return call(std::move(method), std::move(target), std::move(body),
                {{"Once-Bytes", "base64url"}});
  }
};

TEST_F(ApiBytes, TheVeryBytesGoThereAndBackAndOthersSeeThemAsJson) {
  const std::string ticket = field(post("/v1/claims/c", "{}"), "ticket");
  // "_w" is the one byte ff.
  const Response made =
      exact("POST", "/v1/commit",
            R"({"claim":{"key":"c","ticket":")" + ticket +
                R"(","result":"_w"},"logs":[{"stream":"s","events":[{"data":"_w"},{"data":""}]}],)"
                R"("docs":[{"key":"d","if_none_match":"*","body":"_w","type":"image/png"}],)"
                R"("tallies":[{"key":"t","kind":"top","items":["_w"]}]})");
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(field(made, "tallies"),
            R"([{"kind":"top","value":[{"item":"_w","count":1,"error":0}]}])");
  EXPECT_EQ(field(exact("GET", "/v1/claims/c"), "result"), "_w");
  EXPECT_EQ(field(get("/v1/claims/c"), "result"), R"({"base64":"/w=="})");
  EXPECT_NE(exact("GET", "/v1/logs/s").body.find(R"("data":"_w")"), std::string::npos);
  EXPECT_EQ(get("/v1/docs/d").body, "\xff");
  EXPECT_EQ(get("/v1/docs/d").headers.find("Content-Type"), "image/png");
}

TEST_F(ApiBytes, WhatIsNotInThatFormIsRefusedAndNothingHappens) {
  const std::string ticket = field(post("/v1/claims/c", "{}"), "ticket");
  const std::string begin = R"({"ticket":")" + ticket + R"(","result":)";
  expect_problem(exact("POST", "/v1/claims/c/complete", begin + R"("/w=="})"), 400, "invalid");
  expect_problem(exact("POST", "/v1/claims/c/complete", begin + "1}"), 400, "invalid");
  const auto other =
      call("POST", "/v1/claims/c/complete", begin + "1}", {{"Once-Bytes", "base64"}});
  expect_problem(other, 400, "invalid");
  const auto twice =
      call("GET", "/v1/claims/c", "", {{"Once-Bytes", "base64url"}, {"Once-Bytes", "base64url"}});
  expect_problem(twice, 400, "invalid");
  expect_problem(exact("POST", "/v1/tallies/t", R"({"kind":"bloom","items":["="]})"), 400,
                 "invalid");
  EXPECT_EQ(field(get("/v1/claims/c"), "state"), "busy");
  EXPECT_EQ(get("/v1/tallies/t").status, 404);
}

TEST_F(ApiBytes, ATypeThatWouldEndAHeaderIsRefused) {
  const auto put = [&](const std::string& type) {
    return exact(
        "POST", "/v1/commit",
        R"({"docs":[{"key":"d","if_none_match":"*","body":"","type":")" + type + R"("}]})");
  };
  expect_problem(put(R"(a/b\r\nX: y)"), 400, "invalid");
  EXPECT_EQ(get("/v1/docs/d").status, 404);
  EXPECT_EQ(put("a/b").status, 200);
}

}  // namespace
}  // namespace once::api

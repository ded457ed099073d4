#include "api/routes.h"

#include <gtest/gtest.h>

#include <set>

namespace once::api {
namespace {

std::string example_of(const Route& row) {
  std::string path(row.path);
  const std::size_t at = path.find("{}");
  if (at != std::string::npos) path.replace(at, 2, "a%2Fb");
  return path;
}

// A row without one of its fields does not compile; here they also make sense together.
TEST(Routes, EveryRowIsComplete) {
  const std::set<std::string_view> methods = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  for (const Route& row : routes()) {
    SCOPED_TRACE(std::string(row.method) + " " + std::string(row.path));
    EXPECT_TRUE(methods.contains(row.method));
    EXPECT_TRUE(row.path.starts_with('/'));
    EXPECT_EQ(row.path.find("{}"), row.path.rfind("{}"));
    EXPECT_NE(row.handler, nullptr);
    EXPECT_LT(static_cast<std::size_t>(row.subject.primitive), metrics::kPrimitives);
    const bool changes = row.access == Access::write;
    if (row.access != Access::admin) {
      EXPECT_EQ(row.subject.reads, !changes);
    }
    if (row.method == "GET") {
      EXPECT_TRUE(row.subject.reads);
    }
    if (row.follow == Follow::possible) {
      EXPECT_TRUE(row.subject.reads);
    }
  }
}

TEST(Routes, EveryRowIsFoundByItsMethodAndPath) {
  for (const Route& row : routes()) {
    const std::string path = example_of(row);
    SCOPED_TRACE(std::string(row.method) + " " + path);
    for (const std::string& target :
         {path, path + "?x=1&y", "http://host:7600" + path, "HTTP://host" + path + "?x=1&y"}) {
      const RouteMatch match = match_route(row.method, target);
      EXPECT_EQ(match.route, &row) << target;
      EXPECT_EQ(match.query, target.ends_with("&y") ? "x=1&y" : "") << target;
      EXPECT_EQ(match.name, path.contains('%') ? "a%2Fb" : "") << target;
    }
    EXPECT_EQ(match_route("TRACE", path).route, nullptr);
    EXPECT_NE(match_route("TRACE", path).any_row, nullptr);
    if (row.method == "GET") {
      EXPECT_EQ(match_route("HEAD", path).route, &row);
    }
  }
}

TEST(Routes, OtherPathsHaveNoRow) {
  for (const char* target :
       {"", "*", "?", "v1/claims/a", "//", "/v1", "/v1/claims/a/", "/v1/claims/a/b", "/v1/claimsx",
        "/v1/doc", "/v1/claims/a/renew/b", "/V1/claims/a", "http://host/v1/nothing",
        "https://host/v1/claims/a"}) {
    const RouteMatch match = match_route("GET", target);
    EXPECT_EQ(match.route, nullptr) << target;
    EXPECT_EQ(match.any_row, nullptr) << target;
    EXPECT_EQ(allowed_methods(target), "") << target;
  }
  EXPECT_EQ(match_route("GET", "/v1/docs/").name, "");
  EXPECT_EQ(allowed_methods("/v1/docs/d?x"), "GET, HEAD, PUT, PATCH, DELETE");
}

TEST(Routes, ARequestCountsAsItsRowSays) {
  const auto is = [](const Subject& subject, Primitive primitive, bool reads) {
    return subject.primitive == primitive && subject.reads == reads;
  };
  EXPECT_TRUE(is(subject_of("POST", "/v1/claims/a"), Primitive::claims, false));
  EXPECT_TRUE(is(subject_of("HEAD", "/v1/claims?prefix=a"), Primitive::claims, true));
  EXPECT_TRUE(is(subject_of("POST", "/v1/tallies/read"), Primitive::tallies, true));
  EXPECT_TRUE(is(subject_of("POST", "/v1/tallies/reads"), Primitive::tallies, false));
  EXPECT_TRUE(is(subject_of("PUT", "/v1/logs/a"), Primitive::log, false));  // Answered with 405.
  EXPECT_TRUE(is(subject_of("GET", "/v1/nothing"), Primitive::other, false));
}

}  // namespace
}  // namespace once::api

#include "proxy/idempotency_key.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/digest.h"

namespace once::proxy {
namespace {

api::Headers with_key(std::string value) {
  api::Headers headers;
  headers.add("idempotency-key", std::move(value));
  return headers;
}

std::string key_in(std::string value) {
  const auto key = key_of(with_key(std::move(value)));
  return key && *key ? **key : "refused";
}

bool refused(std::string value) {
  const auto key = key_of(with_key(std::move(value)));
  return !key && key.error().code == ErrorCode::invalid;
}

TEST(IdempotencyKey, IsTheSameQuotedOrNot) {
  EXPECT_EQ(key_in("8e03978e-40d5"), "8e03978e-40d5");
  EXPECT_EQ(key_in("\"8e03978e-40d5\""), "8e03978e-40d5");
  EXPECT_EQ(key_in(R"("a \"b\" \\c")"), R"(a "b" \c)");
  EXPECT_EQ(key_in("a b,c;d"), "a b,c;d");
}

TEST(IdempotencyKey, WithoutTheHeaderThereIsNone) {
  const auto key = key_of({});
  ASSERT_TRUE(key.has_value());
  EXPECT_FALSE(key->has_value());
}

TEST(IdempotencyKey, Has1To255PrintableCharacters) {
  EXPECT_EQ(key_in(std::string(255, 'x')), std::string(255, 'x'));
  EXPECT_EQ(key_in("\"" + std::string(255, 'x') + "\""), std::string(255, 'x'));
  EXPECT_TRUE(refused(std::string(256, 'x')));
  EXPECT_TRUE(refused("\"" + std::string(256, 'x') + "\""));
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("\"\""));
  EXPECT_TRUE(refused("a\tb"));
  EXPECT_TRUE(refused("caf\xc3\xa9"));
}

TEST(IdempotencyKey, HalfAQuoteIsRefused) {
  for (const char* bad : {"\"", "\"a", "\"a\"b\"", "\"a\\\"", "\"a\\b\"", "\"a\";p=1"}) {
    EXPECT_TRUE(refused(bad)) << bad;
  }
}

TEST(IdempotencyKey, TwoOfThemAreRefused) {
  api::Headers headers = with_key("a");
  headers.add("Idempotency-Key", "a");
  EXPECT_FALSE(key_of(headers).has_value());
}

api::Request request_by(std::string user, std::string method, std::string target) {
  api::Request request{std::move(method), std::move(target), {}, ""};
  if (!user.empty()) request.headers.add("authorization", std::move(user));
  return request;
}

TEST(ClaimName, DependsOnUserMethodPathQueryAndKeyAndNothingElse) {
  const std::string name = claim_name(request_by("u", "POST", "/a?b"), "k");
  EXPECT_EQ(claim_name(request_by("u", "POST", "/a?b"), "k"), name);
  EXPECT_NE(claim_name(request_by("v", "POST", "/a?b"), "k"), name);
  EXPECT_NE(claim_name(request_by("", "POST", "/a?b"), "k"), name);
  EXPECT_NE(claim_name(request_by("u", "PATCH", "/a?b"), "k"), name);
  EXPECT_NE(claim_name(request_by("u", "POST", "/c?b"), "k"), name);
  EXPECT_NE(claim_name(request_by("u", "POST", "/a?c"), "k"), name);
  EXPECT_NE(claim_name(request_by("u", "POST", "/a?b"), "l"), name);
  api::Request other = request_by("u", "POST", "/a?b");
  other.body = "another";
  other.headers.add("X-Trace", "1");
  EXPECT_EQ(claim_name(other, "k"), name);
}

// docs/hazards.md#h42
TEST(ClaimName, H42_DependsOnEveryHeaderThatSaysWhoAsks) {
  const std::vector<std::string> identity_headers = {"x-org", "x-user"};
  const auto name_for = [&](const std::vector<api::Headers::Field>& fields) {
    api::Request request = request_by("", "POST", "/a");
    for (const auto& [name, value] : fields) request.headers.add(name, value);
    return claim_name(request, "k", identity_headers);
  };
  const std::vector<std::string> names = {
      name_for({}),
      name_for({{"Authorization", "a"}}),
      name_for({{"Cookie", "a"}}),
      name_for({{"Cookie", "b"}}),
      name_for({{"X-Api-Key", "a"}}),
      name_for({{"X-User", "a"}}),
      name_for({{"X-Org", "a"}}),
      name_for({{"X-Org", "a"}, {"X-User", "a"}}),
      name_for({{"X-User", "a"}, {"X-User", "a"}}),
      name_for({{"Cookie", "a"}, {"X-User", "a"}}),
      name_for({{"Authorization", "cookie"}, {"Authorization", "a"}}),
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(std::ranges::count(names, names[i]), 1) << i;
  }
  EXPECT_EQ(name_for({{"x-user", "a"}, {"X-ORG", "a"}}), names[7]);
  EXPECT_EQ(name_for({{"X-Other", "a"}}), names[0]);
}

// Answers that were stored before these headers counted are found again.
TEST(ClaimName, WithoutThemIsWhatItAlwaysWas) {
  EXPECT_EQ(claim_name(request_by("u", "POST", "/a?b"), "k"),
            "proxy/" + sha256_hex("1:u4:POST4:/a?b").substr(0, 32) + "/k");
}

// docs/hazards.md#h32: parts that run into each other would make two scopes one.
TEST(ClaimName, PartsDoNotRunIntoEachOther) {
  EXPECT_NE(claim_name(request_by("uP", "OST", "/a"), "k"),
            claim_name(request_by("u", "POST", "/a"), "k"));
}

TEST(ClaimName, HoldsNoSecretAndFitsAClaim) {
  const std::string name = claim_name(request_by("Bearer s3cret", "POST", "/"), "k");
  EXPECT_EQ(name.find("s3cret"), std::string::npos);
  EXPECT_TRUE(name.starts_with("proxy/"));
  EXPECT_TRUE(name.ends_with("/k"));
  EXPECT_LE(claim_name(request_by("", "POST", "/"), std::string(kMaxKey, 'x')).size(), 512U);
}

}  // namespace
}  // namespace once::proxy

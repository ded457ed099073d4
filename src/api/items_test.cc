#include "wire/items.h"
#include "api/service_fixture.h"
#include "api/tokens.h"
#include "once/blocking_driver.h"
#include "primitives/keys.h"

namespace once::api {
namespace {

class Items : public ServiceFixture {
 protected:
  // The items of the answer, without the brackets.
  static std::string items_of(const Response& page) {
    const std::string items = field(page, "items");
    return items.substr(1, items.size() - 2);
  }
  static std::string body_of(const std::string& items) { return R"({"items":[)" + items + "]}"; }
};

TEST_F(Items, ComeBackAsTheyWere) {
  post("/v1/claims/a", "{}");
  post("/v1/tallies/t", R"({"kind":"sum","add":5})");
  const Response page = get("/v1/items");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(field(page, "cursor"), "null");
  EXPECT_EQ(field(page, "time"), field(get("/v1/items"), "time"));
  const Response again = post("/v1/items", body_of(items_of(page)));
  EXPECT_EQ(field(again, "imported"), "0") << again.body;
  EXPECT_EQ(field(again, "refused"), "0") << again.body;
  store_ = open_memory({}, clock_);
  BlockingDriver driver(*store_, clock_, entropy_);
  Answer answer = service_.respond({"POST", "/v1/items", {}, body_of(items_of(page))});
  ASSERT_TRUE(std::holds_alternative<Plan<Response>>(answer));
  const auto made = driver.run(std::get<Plan<Response>>(std::move(answer)), kRequestPatience);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(field(*made, "known"), "0") << made->body;
  EXPECT_NE(field(*made, "imported"), "0") << made->body;
}

TEST_F(Items, AreWalkedInPages) {
  post("/v1/seen", R"({"ids":["a","b","c","d","e"]})");
  call("POST", "/v1/seen", R"({"ids":["a"]})", {{"Once-Namespace", "n"}});
  std::size_t count = 0;
  std::string query = "?limit=2";
  for (int pages = 0; pages < 10; ++pages) {
    const Response page = get("/v1/items" + query);
    ASSERT_EQ(page.status, 200) << page.body;
    for (std::size_t at = 0; (at = page.body.find("\"home\"", at)) != std::string::npos; ++at) {
      ++count;
    }
    const std::string cursor = field(page, "cursor");
    if (cursor == "null") break;
    query = "?limit=2&cursor=" + cursor;
  }
  EXPECT_EQ(count, 6U);
  const Response one = call("GET", "/v1/items", "", {{"Once-Namespace", "n"}});
  EXPECT_NE(one.body.find("seen/n/a"), std::string::npos) << one.body;
  EXPECT_EQ(one.body.find("seen/default"), std::string::npos) << one.body;
}

TEST_F(Items, TheStoresOwnItemsAreNeitherListedNorTaken) {
  post("/v1/claims/a", "{}");
  const std::optional<Item> secret = store_->get(keys::store_secret()).value();
  ASSERT_TRUE(secret.has_value());
  const Response page = get("/v1/items");
  EXPECT_EQ(page.body.find("store/"), std::string::npos) << page.body;
  const std::string item = wire::item_json({keys::store_secret(), *secret});
  expect_problem(post("/v1/items", body_of(item)), 400, "invalid");
}

TEST_F(Items, AreDecodedByTheirKindAndRefusedWhole) {
  const std::string sound =
      wire::item_json({keys::log_mark(keys::log_home("n", "s"), "c", 1), {std::int64_t{1}, {1}}});
  const auto expect_refused = [&](const Key& key, Value value) {
    const std::string item = wire::item_json({key, {std::move(value), {1}}});
    const Response answer = post("/v1/items", body_of(sound + "," + item));
    expect_problem(answer, 400, "invalid");
    EXPECT_NE(field(answer, "detail").find(key.partition.home), std::string::npos) << answer.body;
    EXPECT_EQ(field(get("/v1/items"), "items"), "[]");
  };
  expect_refused(keys::claim("default", "rotten"), "rot");
  expect_refused(keys::document("default", "d"), "rot");
  expect_refused(keys::token(std::string(64, 'a')), "rot");
  expect_refused(keys::tally_meta(keys::tally("default", "t")), std::int64_t{1});
}

TEST_F(Items, ATokenIsTakenOnlyIfItIsAskedFor) {
  const std::string item =
      wire::item_json({keys::token(tokens::id_of("mine")), {tokens::encode({}), {1}}});
  expect_problem(post("/v1/items", body_of(item)), 400, "invalid");
  EXPECT_EQ(get("/v1/items").status, 200) << "nobody needs a token";
  const Response taken = post("/v1/items", R"({"items":[)" + item + R"(],"with_tokens":true})");
  EXPECT_EQ(field(taken, "imported"), "1") << taken.body;
}

TEST_F(Items, OthersAreLeftWhereTheyStand) {
  post("/v1/seen", R"({"ids":["a"]})");
  const std::string before = items_of(get("/v1/items"));
  call("DELETE", "/v1/seen/a");
  const Response answer = post("/v1/items", body_of(before));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(field(answer, "refused"), "1") << answer.body;
  expect_problem(get("/v1/seen/a"), 404, "not_found");
}

TEST_F(Items, WhatIsDamagedOrNotOursIsRefusedWhole) {
  post("/v1/seen", R"({"ids":["a"],"request":"r"})");
  const std::string item = items_of(get("/v1/items"));
  call("DELETE", "/v1/seen/a");
  const std::string before = get("/v1/items").body;
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = item;
    return body_of(item + "," + other.replace(other.find(from), from.size(), to));
  };
  expect_problem(post("/v1/items", changed("seen/default/a", "seen/default/b")), 400, "invalid");
  expect_problem(post("/v1/items", changed("seen/", "what/")), 400, "invalid");
  expect_problem(post("/v1/items", changed("\"sort\":0", "\"sort\":-1")), 400, "invalid");
  expect_problem(post("/v1/items", changed("\"bytes\":\"", "\"bytes\":\"AA")), 400, "invalid");
  expect_problem(post("/v1/items", changed("\"expiry\":1", "\"expiry\":2")), 400, "invalid");
  expect_problem(post("/v1/items", changed("\"part\":\"\",", "")), 400, "invalid");
  expect_problem(post("/v1/items", changed("{", "{\"more\":1,")), 400, "invalid");
  expect_problem(post("/v1/items", body_of("")), 400, "invalid");
  expect_problem(post("/v1/items", body_of("1")), 400, "invalid");
  expect_problem(post("/v1/items", "{}"), 400, "invalid");
  expect_problem(call("POST", "/v1/items", body_of(item), {{"Once-Namespace", "n"}}), 400,
                 "invalid");
  expect_problem(get("/v1/items?limit=0"), 400, "invalid");
  expect_problem(get("/v1/items?cursor=x"), 400, "invalid");
  expect_problem(get("/v1/items?cursor=OTk6"), 400, "invalid");
  EXPECT_EQ(get("/v1/items").body, before);
}

TEST_F(Items, NeedATokenOfNoNamespaceThatMayWrite) {
  const auto bearer = [&](const std::string& grant) {
    const Response made = post("/v1/tokens", grant);
    return Headers::Field{"Authorization", "Bearer " + field(made, "token")};
  };
  const Headers::Field bound = bearer(R"({"namespace":"n"})");
  expect_problem(get("/v1/items"), 401, "unauthorized");
  expect_problem(call("GET", "/v1/items", "", {bound}), 403, "forbidden");
  expect_problem(call("POST", "/v1/items", body_of(""), {bound}), 403, "forbidden");
}

}  // namespace
}  // namespace once::api

// For every operation of the API and every status it has, how to get it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "once/claims.h"
#include "once/local.h"
#include "once/memory_store.h"
#include "testing/manual_clock.h"
#include "wire/message.h"

namespace once::api {

// What stands behind the service in a case.
enum class Behind : std::uint8_t {
  plain,
  down,
  small,      // Takes values of up to 1,000 bytes.
  single,     // Takes one write a commit.
  rival,      // Another changes the document "d" before each PATCH is committed.
  silent,     // Commits, and never says so.
  rotten,     // What stands at the claim "c" is no record of one.
  directory,  // Has checkpoints.
};

struct Step {
  std::string method;
  std::string target;
  std::string body;
  std::vector<Headers::Field> headers;
};

// Steps whose last one is `operation` and is answered with `status`. $ticket, $etag, $token and $id
// in a step are what an earlier one was given.
struct Case {
  std::string operation;
  int status;
  std::vector<Step> steps;
  Behind behind = Behind::plain;
};

using F = std::vector<Headers::Field>;
inline const F kCreate = {{"If-None-Match", "*"}};
inline const F kMatch = {{"If-Match", "$etag"}};
inline const F kStale = {{"If-Match", "\"0123456789abcdef\""}};
inline const F kMerge = {{"Content-Type", "application/merge-patch+json"}};
inline const F kLines = {{"Content-Type", "text/plain"}};

inline F both(F a, const F& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline F keyed(F a) { return both(std::move(a), {{"Idempotency-Key", "k"}}); }

inline const std::string kTicket = R"({"ticket":"$ticket"})";
inline const std::string kLarge(2'000, 'x');
inline const Step kTake{"POST", "/v1/claims/c", "{}", {}};
inline const Step kForget{"DELETE", "/v1/claims/c", "", {}};
inline const Step kPut{"PUT", "/v1/docs/d", "{}", kCreate};

inline std::vector<Case> page_cases() {
  return {
      {"GET /", 200, {{"GET", "/", "", {}}}},
      {"GET /console/{}", 200, {{"GET", "/console/main.js", "", {}}}},
      {"GET /console/{}",
       304,
       {{"GET", "/console/main.js", "", {}},
        {"GET", "/console/main.js", "", {{"If-None-Match", "$etag"}}}}},
      {"GET /console/{}", 404, {{"GET", "/console/nothing.js", "", {}}}},
      {"GET /v1/whoami", 200, {{"GET", "/v1/whoami", "", {}}}},
      {"GET /healthz", 200, {{"GET", "/healthz", "", {}}}},
      {"GET /readyz", 200, {{"GET", "/readyz", "", {}}}},
      {"GET /readyz", 503, {{"GET", "/readyz", "", {}}}, Behind::down},
      {"GET /openapi.yaml", 200, {{"GET", "/openapi.yaml", "", {}}}},
      {"GET /metrics", 200, {{"GET", "/metrics", "", {}}}},
      {"GET /v1/hot", 200, {{"GET", "/v1/hot", "", {}}}},
      {"GET /v1/hot", 400, {{"GET", "/v1/hot?x=1", "", {}}}},
      {"GET /v1/namespaces", 200, {{"GET", "/v1/namespaces", "", {}}}},
      {"GET /v1/namespaces", 400, {{"GET", "/v1/namespaces?limit=0", "", {}}}},
      {"GET /v1/routes", 200, {{"GET", "/v1/routes", "", {}}}},
      {"GET /v1/routes", 400, {{"GET", "/v1/routes?x=1", "", {}}}},
      {"GET /v1/workers", 200, {{"GET", "/v1/workers", "", {}}}},
      {"GET /v1/workers", 400, {{"GET", "/v1/workers?limit=0", "", {}}}},
      {"GET /v1/workers", 503, {{"GET", "/v1/workers", "", {}}}, Behind::down},
      {"GET /v1/history", 200, {{"GET", "/v1/history", "", {}}}},
      {"GET /v1/history", 400, {{"GET", "/v1/history?after=soon", "", {}}}},
      {"GET /v1/doctor", 200, {{"GET", "/v1/doctor", "", {}}}},
      {"GET /v1/doctor", 400, {{"GET", "/v1/doctor?x=1", "", {}}}},
  };
}

// Renew, complete and release, each with the statuses that all have.
inline std::vector<Case> ticket_cases(const std::string& verb) {
  const std::string operation = "POST /v1/claims/{}/" + verb;
  const Step step{"POST", "/v1/claims/c/" + verb, kTicket, {}};
  return {{operation, 200, {kTake, step}},
          {operation, 400, {{"POST", step.target, "{}", {}}}},
          {operation, 412, {kTake, kForget, step}}};
}

// A ticket that the store, down, is never asked about.
inline std::string any_ticket() {
  testing::ManualClock clock;
  Entropy entropy{1};
  const auto store = open_memory({}, clock);
  LocalClaims claims(*store, "default", clock, entropy);
  return std::get<Claimed>(claims.take("c", {}).value()).ticket.text;
}

inline std::vector<Case> claim_cases() {
  const std::string path = "/v1/claims/c";
  const std::string ticket = R"({"ticket":")" + any_ticket() + R"("})";
  const Step complete{"POST", path + "/complete", R"({"ticket":"$ticket","result":1})", {}};
  const std::string large = R"({"ticket":"$ticket","result":")" + kLarge + R"("})";
  const std::string failed = R"({"ticket":"$ticket","final":true,"failure":")" + kLarge + R"("})";
  return {
      {"POST /v1/claims/{}", 201, {kTake}},
      {"POST /v1/claims/{}", 200, {kTake, complete, kTake}},
      {"POST /v1/claims/{}", 400, {{"POST", path, R"({"leese":"1s"})", {}}}},
      {"POST /v1/claims/{}", 409, {kTake, kTake}},
      {"POST /v1/claims/{}",
       422,
       {{"POST", path, R"({"payload":"x"})", {}}, {"POST", path, R"({"payload":"y"})", {}}}},
      {"POST /v1/claims/{}", 503, {kTake}, Behind::down},
      {"GET /v1/claims/{}", 200, {kTake, {"GET", path, "", {}}}},
      {"GET /v1/claims/{}", 400, {{"GET", path + "?x=1", "", {}}}},
      {"GET /v1/claims/{}", 404, {{"GET", path, "", {}}}},
      {"GET /v1/claims/{}", 503, {{"GET", path, "", {}}}, Behind::down},
      {"DELETE /v1/claims/{}", 204, {kTake, kForget}},
      {"DELETE /v1/claims/{}", 400, {{"DELETE", path + "?x=1", "", {}}}},
      {"DELETE /v1/claims/{}", 503, {kForget}, Behind::down},
      {"POST /v1/claims/{}/renew", 503, {{"POST", path + "/renew", ticket, {}}}, Behind::down},
      {"POST /v1/claims/{}/complete",
       422,
       {kTake, complete, {"POST", complete.target, kTicket, {}}}},
      {"POST /v1/claims/{}/complete",
       413,
       {kTake, {"POST", complete.target, large, {}}},
       Behind::small},
      {"POST /v1/claims/{}/complete", 503, {{"POST", complete.target, ticket, {}}}, Behind::down},
      {"POST /v1/claims/{}/release",
       422,
       {kTake, complete, {"POST", path + "/release", R"({"ticket":"$ticket","final":true})", {}}}},
      {"POST /v1/claims/{}/release",
       413,
       {kTake, {"POST", path + "/release", failed, {}}},
       Behind::small},
      {"POST /v1/claims/{}/release", 503, {{"POST", path + "/release", ticket, {}}}, Behind::down},
      {"GET /v1/claims", 200, {{"GET", "/v1/claims", "", {}}}},
      {"GET /v1/claims", 400, {{"GET", "/v1/claims?state=odd", "", {}}}},
      {"GET /v1/claims", 503, {{"GET", "/v1/claims", "", {}}}, Behind::down},
      {"POST /v1/bulk/claims/forget",
       200,
       {kTake, {"POST", "/v1/bulk/claims/forget", R"({"prefix":"c","limit":1})", {}}}},
      {"POST /v1/bulk/claims/forget", 400, {{"POST", "/v1/bulk/claims/forget", "{}", {}}}},
      {"POST /v1/bulk/claims/forget",
       503,
       {{"POST", "/v1/bulk/claims/forget", R"({"prefix":"c"})", {}}},
       Behind::down},
      {"POST /v1/bulk/claims/retry",
       200,
       {kTake, {"POST", "/v1/bulk/claims/retry", R"({"state":"failed","dry_run":true})", {}}}},
      {"POST /v1/bulk/claims/retry",
       400,
       {{"POST", "/v1/bulk/claims/retry", R"({"prefix":"c","limit":0})", {}}}},
      {"POST /v1/bulk/claims/retry",
       503,
       {{"POST", "/v1/bulk/claims/retry", R"({"prefix":"c"})", {}}},
       Behind::down},
      {"POST /v1/bulk/claims/release",
       200,
       {kTake, {"POST", "/v1/bulk/claims/release", R"({"state":"busy","dry_run":true})", {}}}},
      {"POST /v1/bulk/claims/release",
       400,
       {{"POST", "/v1/bulk/claims/release", R"({"prefix":"c","limit":0})", {}}}},
      {"POST /v1/bulk/claims/release",
       503,
       {{"POST", "/v1/bulk/claims/release", R"({"prefix":"c"})", {}}},
       Behind::down},
      {"GET /v1/seen/{}",
       200,
       {{"POST", "/v1/seen", R"({"ids":["a"]})", {}}, {"GET", "/v1/seen/a", "", {}}}},
      {"GET /v1/seen/{}", 400, {{"GET", "/v1/seen/a?x=1", "", {}}}},
      {"GET /v1/seen/{}", 404, {{"GET", "/v1/seen/a", "", {}}}},
      {"GET /v1/seen/{}", 503, {{"GET", "/v1/seen/a", "", {}}}, Behind::down},
      {"DELETE /v1/seen/{}",
       204,
       {{"POST", "/v1/seen", R"({"ids":["a"]})", {}}, {"DELETE", "/v1/seen/a", "", {}}}},
      {"DELETE /v1/seen/{}", 400, {{"DELETE", "/v1/seen/a?x=1", "", {}}}},
      {"DELETE /v1/seen/{}", 404, {{"DELETE", "/v1/seen/a", "", {}}}},
      {"DELETE /v1/seen/{}", 503, {{"DELETE", "/v1/seen/a", "", {}}}, Behind::down},
      {"POST /v1/seen", 200, {{"POST", "/v1/seen", R"({"ids":["a"]})", {}}}},
      {"POST /v1/seen", 400, {{"POST", "/v1/seen", R"({"ids":[]})", {}}}},
      {"POST /v1/seen", 503, {{"POST", "/v1/seen", R"({"ids":["a"]})", {}}}, Behind::down},
  };
}

inline std::vector<Case> log_cases() {
  const std::string append = "POST /v1/logs/{}";
  const std::string path = "/v1/logs/s";
  const auto lines = [&](std::string query, std::string body) {
    return Step{"POST", path + query, std::move(body), kLines};
  };
  const Step trim{"POST", path + "/trim", R"({"before":1})", {}};
  const Step close{"POST", path + "/close", "{}", {}};
  const Step remove{"DELETE", path, "", {}};
  const auto bulk = [](std::string body) {
    return Step{"POST", "/v1/bulk/logs/delete", std::move(body), {}};
  };
  return {
      {append, 201, {lines("", "x")}},
      {append, 200, {lines("?batch=b", "x"), lines("?batch=b", "x")}},
      {append, 400, {lines("", "")}},
      {append, 409, {lines("", "x"), close, lines("", "x")}},
      {append, 412, {lines("?expect=2", "x")}},
      {append, 413, {lines("", kLarge)}, Behind::small},
      {append, 422, {lines("?batch=b", "x"), lines("?batch=b", "y")}},
      {append, 503, {lines("", "x")}, Behind::down},
      {"GET /v1/logs/{}", 200, {{"GET", path, "", {}}}},
      {"GET /v1/logs/{}", 400, {{"GET", path + "?limit=0", "", {}}}},
      {"GET /v1/logs/{}", 503, {{"GET", path, "", {}}}, Behind::down},
      {"POST /v1/logs/{}/close", 200, {lines("", "x"), close}},
      {"POST /v1/logs/{}/close", 400, {{"POST", close.target, R"({"ttl":"long"})", {}}}},
      {"POST /v1/logs/{}/close", 404, {close}},
      {"POST /v1/logs/{}/close", 503, {close}, Behind::down},
      {"DELETE /v1/logs/{}", 204, {lines("", "x"), close, remove}},
      {"DELETE /v1/logs/{}", 404, {remove}},
      {"DELETE /v1/logs/{}", 409, {lines("", "x"), remove}},
      {"DELETE /v1/logs/{}", 503, {remove}, Behind::down},
      {"GET /v1/logs", 200, {{"GET", "/v1/logs?prefix=s", "", {}}}},
      {"GET /v1/logs", 400, {{"GET", "/v1/logs?limit=0", "", {}}}},
      {"GET /v1/logs", 503, {{"GET", "/v1/logs", "", {}}}, Behind::down},
      {"POST /v1/bulk/logs/delete", 200, {bulk(R"({"prefix":"s"})")}},
      {"POST /v1/bulk/logs/delete", 400, {bulk("{}")}},
      {"POST /v1/bulk/logs/delete", 503, {bulk(R"({"prefix":"s"})")}, Behind::down},
      {"POST /v1/logs/{}/trim", 200, {trim}},
      {"POST /v1/logs/{}/trim", 400, {{"POST", trim.target, "{}", {}}}},
      {"POST /v1/logs/{}/trim", 503, {trim}, Behind::down},
  };
}

inline std::vector<Case> document_cases() {
  const std::string path = "/v1/docs/d";
  const Step read{"GET", path, "", {}};
  const Step replace{"PUT", path, "[]", kMatch};
  const Step remove{"DELETE", path, "", kMatch};
  const auto put = [&](std::string body, F headers) {
    return Step{"PUT", path, std::move(body), std::move(headers)};
  };
  const std::string get = "GET /v1/docs/{}";
  const std::string put_it = "PUT /v1/docs/{}";
  const std::string remove_many = "POST /v1/bulk/docs/delete";
  const std::string delete_it = "DELETE /v1/docs/{}";
  return {
      {"GET /v1/docs", 200, {kPut, {"GET", "/v1/docs?prefix=d", "", {}}}},
      {"GET /v1/docs", 400, {{"GET", "/v1/docs?limit=0", "", {}}}},
      {"GET /v1/docs", 503, {{"GET", "/v1/docs", "", {}}}, Behind::down},
      {remove_many, 200, {kPut, {"POST", "/v1/bulk/docs/delete", R"({"prefix":"d"})", {}}}},
      {remove_many, 400, {{"POST", "/v1/bulk/docs/delete", "{}", {}}}},
      {remove_many, 503, {{"POST", "/v1/bulk/docs/delete", R"({"prefix":"d"})", {}}}, Behind::down},
      {get, 200, {kPut, read}},
      {get, 304, {kPut, {"GET", path, "", kCreate}}},
      {get, 400, {{"GET", path, "", {{"If-None-Match", "x"}}}}},
      {get, 404, {read}},
      {get, 503, {read}, Behind::down},
      {put_it, 201, {kPut}},
      {put_it, 200, {kPut, replace}},
      {put_it, 400, {put("x", {{"If-Match", "*"}})}},
      {put_it, 412, {kPut, kPut}},
      {put_it, 413, {put(kLarge, kCreate)}, Behind::small},
      {put_it, 422, {put("x", keyed(kCreate)), put("y", keyed(kCreate))}},
      {put_it, 428, {put("x", {})}},
      {put_it, 503, {kPut}, Behind::down},
      {delete_it, 204, {kPut, remove}},
      {delete_it, 400, {{"DELETE", path, "", {{"If-Match", "*"}}}}},
      {delete_it, 412, {kPut, {"DELETE", path, "", kStale}}},
      {delete_it, 422, {put("x", keyed(kCreate)), {"DELETE", path, "", keyed(kMatch)}}},
      {delete_it, 428, {kPut, {"DELETE", path, "", {}}}},
      {delete_it, 503, {{"DELETE", path, "", kStale}}, Behind::down},
  };
}

inline std::vector<Case> patch_cases() {
  const std::string path = "/v1/docs/d";
  const std::string it = "PATCH /v1/docs/{}";
  const auto merge = [&](std::string body, const F& headers = {}) {
    return Step{"PATCH", path, std::move(body), both(kMerge, headers)};
  };
  const F patch = {{"Content-Type", "application/json-patch+json"}};
  return {
      {it, 200, {kPut, merge("{}")}},
      {it, 400, {kPut, merge("{")}},
      {it, 404, {merge("{}")}},
      {it, 409, {kPut, merge("{}")}, Behind::rival},
      {it, 412, {kPut, merge("{}", kStale)}},
      {it, 413, {kPut, merge("\"" + kLarge + "\"")}, Behind::small},
      {it, 415, {kPut, {"PATCH", path, "{}", {}}}},
      {it, 422, {kPut, {"PATCH", path, R"([{"op":"remove","path":"/a"}])", patch}}},
      {it, 503, {merge("{}")}, Behind::down},
  };
}

inline std::vector<Case> tally_cases() {
  const auto add = [](std::string body) { return Step{"POST", "/v1/tallies/t", body, {}}; };
  const Step one = add(R"({"kind":"sum","add":1,"id":"i"})");
  const Step read{"GET", "/v1/tallies/t", "", {}};
  const Step many{"POST", "/v1/tallies/read", R"({"keys":["t"]})", {}};
  const std::string large = R"({"kind":"top","items":[")" + kLarge.substr(0, 500) + R"(",")" +
                            kLarge.substr(0, 501) + R"("]})";
  const std::string many_gone = "POST /v1/bulk/tallies/delete";
  std::vector<Step> too_many;
  for (const std::string name : {"a", "b", "c", "d", "e"}) {
    const std::string filter = R"({"kind":"bloom","capacity":13000000,"items":[]})";
    too_many.push_back({"POST", "/v1/tallies/" + name, filter, {}});
  }
  too_many.push_back({"POST", "/v1/tallies/read", R"({"keys":["a","b","c","d","e"]})", {}});
  return {
      {"GET /v1/tallies", 200, {one, {"GET", "/v1/tallies", "", {}}}},
      {"GET /v1/tallies", 400, {{"GET", "/v1/tallies?limit=0", "", {}}}},
      {"GET /v1/tallies", 503, {{"GET", "/v1/tallies", "", {}}}, Behind::down},
      {many_gone, 200, {one, {"POST", "/v1/bulk/tallies/delete", R"({"prefix":"t"})", {}}}},
      {many_gone, 400, {{"POST", "/v1/bulk/tallies/delete", "{}", {}}}},
      {many_gone,
       501,
       {{"POST", "/v1/bulk/tallies/delete", R"({"prefix":"t"})", {}}},
       Behind::single},
      {many_gone,
       503,
       {{"POST", "/v1/bulk/tallies/delete", R"({"prefix":"t"})", {}}},
       Behind::down},
      {"DELETE /v1/tallies/{}", 204, {one, {"DELETE", "/v1/tallies/t", "", {}}}},
      {"DELETE /v1/tallies/{}", 400, {{"DELETE", "/v1/tallies/t?x=1", "", {}}}},
      {"DELETE /v1/tallies/{}", 404, {{"DELETE", "/v1/tallies/t", "", {}}}},
      {"DELETE /v1/tallies/{}", 501, {one, {"DELETE", "/v1/tallies/t", "", {}}}, Behind::single},
      {"DELETE /v1/tallies/{}", 503, {{"DELETE", "/v1/tallies/t", "", {}}}, Behind::down},
      {"POST /v1/tallies/{}", 200, {one}},
      {"POST /v1/tallies/{}", 400, {add(R"({"kind":"odd"})")}},
      {"POST /v1/tallies/{}", 409, {one, add(R"({"kind":"max","value":1})")}},
      {"POST /v1/tallies/{}", 413, {add(large)}, Behind::small},
      {"POST /v1/tallies/{}", 422, {one, add(R"({"kind":"sum","add":2,"id":"i"})")}},
      {"POST /v1/tallies/{}", 503, {one}, Behind::down},
      {"GET /v1/tallies/{}", 200, {one, read}},
      {"GET /v1/tallies/{}", 400, {{"GET", "/v1/tallies/t?from=now", "", {}}}},
      {"GET /v1/tallies/{}", 404, {read}},
      {"GET /v1/tallies/{}", 503, {read}, Behind::down},
      {"POST /v1/tallies/read", 200, {many}},
      {"POST /v1/tallies/read", 400, {{"POST", "/v1/tallies/read", "{}", {}}}},
      {"POST /v1/tallies/read", 413, too_many},
      {"POST /v1/tallies/read", 503, {many}, Behind::down},
  };
}

inline std::vector<Case> commit_cases() {
  const std::string it = "POST /v1/commit";
  const auto commit = [](std::string body) { return Step{"POST", "/v1/commit", body, {}}; };
  const std::string count = R"("tallies":[{"key":"t","kind":"count"}])";
  const Step max{"POST", "/v1/tallies/t", R"({"kind":"max","value":1})", {}};
  const std::string large =
      R"({"docs":[{"key":"d","if_none_match":"*","body":")" + kLarge + R"("}]})";
  return {
      {it, 200, {commit("{" + count + "}")}},
      {it, 400, {commit(R"({"docs":[{}]})")}},
      {it, 409, {max, commit("{" + count + "}")}},
      {it, 412, {kPut, commit(R"({"docs":[{"key":"d","if_none_match":"*","body":1}]})")}},
      {it, 413, {commit(large)}, Behind::small},
      {it, 422, {commit(R"({"id":"i"})"), commit(R"({"id":"i",)" + count + "}")}},
      {it, 501, {commit("{" + count + "}")}, Behind::single},
      {it, 501, {commit(R"({"prepare":true,)" + count + "}")}},
      {it, 503, {commit("{" + count + "}")}, Behind::down},
  };
}

// The service has a route that logs the type "logged", and one that counts the type "counted".
inline std::vector<Case> event_cases() {
  const std::string it = "POST /v1/events";
  const auto event = [](const std::string& type, const std::string& data = "1") {
    return Step{"POST",
                "/v1/events",
                R"({"specversion":"1.0","id":"1","source":"s","type":")" + type + R"(","data":")" +
                    data + "\"}",
                {{"Content-Type", "application/cloudevents+json"}}};
  };
  const Step held{"POST", "/v1/claims/event%2F1:s1", "{}", {}};
  const F xml = {{"Content-Type", "application/cloudevents+xml"}};
  const Step max{"POST", "/v1/tallies/t", R"({"kind":"max","value":1})", {}};
  return {
      {it, 200, {event("t")}},
      {it, 200, {event("logged"), event("logged")}},
      {it, 400, {{"POST", "/v1/events", "{}", {}}}},
      {it, 409, {held, event("t")}},
      {it, 409, {max, event("counted")}},
      {it, 413, {event("logged", kLarge)}, Behind::small},
      {it, 400, {{"POST", "/v1/events", "", xml}}},
      {it, 501, {event("logged")}, Behind::single},
      {it, 503, {event("logged")}, Behind::down},
  };
}

inline std::vector<Case> token_cases() {
  const Step make{"POST", "/v1/tokens", "{}", {}};
  const Step list{"GET", "/v1/tokens", "", {}};
  const F bearer = {{"Authorization", "Bearer $token"}};
  const Step revoke{"DELETE", "/v1/tokens/$id", "", bearer};
  return {
      {"POST /v1/tokens", 201, {make}},
      {"POST /v1/tokens", 400, {{"POST", "/v1/tokens", R"({"namespace":""})", {}}}},
      {"POST /v1/tokens", 503, {make}, Behind::down},
      {"GET /v1/tokens", 200, {make, {"GET", "/v1/tokens", "", bearer}}},
      {"GET /v1/tokens", 400, {{"GET", "/v1/tokens?x=1", "", {}}}},
      {"GET /v1/tokens", 503, {list}, Behind::down},
      {"DELETE /v1/tokens/{}", 204, {make, revoke}},
      {"DELETE /v1/tokens/{}", 400, {{"DELETE", "/v1/tokens/x?x=1", "", {}}}},
      {"DELETE /v1/tokens/{}", 404, {make, {"DELETE", "/v1/tokens/other", "", bearer}}},
      {"DELETE /v1/tokens/{}", 503, {{"DELETE", "/v1/tokens/x", "", {}}}, Behind::down},
  };
}

// As `once export` wrote it: the check is of these very values.
inline std::vector<Case> item_cases() {
  const Step list{"GET", "/v1/items", "", {}};
  const Step import{"POST",
                    "/v1/items",
                    R"({"items":[{"home":"claim/default/a","part":"","sort":0,)"
                    R"("version":"573f27da57fdcafe","number":86400000,)"
                    R"("expiry":1794894571077,"check":369505238}]})",
                    {}};
  return {
      {"GET /v1/items", 200, {list}},
      {"GET /v1/items", 400, {{"GET", "/v1/items?limit=0", "", {}}}},
      {"GET /v1/items", 503, {list}, Behind::down},
      {"POST /v1/items", 200, {import}},
      {"POST /v1/items", 400, {{"POST", "/v1/items", R"({"items":[]})", {}}}},
      {"POST /v1/items", 503, {import}, Behind::down},
  };
}

inline std::vector<Case> checkpoint_cases() {
  const std::string it = "POST /v1/checkpoints";
  const Step make{"POST", "/v1/checkpoints", "", {}};
  return {
      {it, 201, {make}, Behind::directory},
      {it, 400, {{"POST", "/v1/checkpoints", R"({"to":"/tmp"})", {}}}, Behind::directory},
      {it, 501, {make}},
  };
}

inline std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& some :
       {page_cases(), claim_cases(), ticket_cases("renew"), ticket_cases("complete"),
        ticket_cases("release"), log_cases(), document_cases(), patch_cases(), tally_cases(),
        commit_cases(), event_cases(), token_cases(), item_cases(), checkpoint_cases()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// Statuses that any operation may have, which openapi.yaml tells as its default, and codes of which
// a status above has more than one.
inline std::vector<Case> other_cases() {
  const Step make{"POST", "/v1/tokens", R"({"namespace":"n"})", {}};
  const Step admin{"GET", "/v1/tokens", "", {{"Authorization", "Bearer $token"}}};
  std::vector<Step> many;
  for (int i = 0; i <= 1'024; ++i) {
    const std::string id = std::to_string(i);
    many.push_back({"POST", "/v1/tallies/t", R"({"kind":"count","id":")" + id + R"("})", {}});
  }
  return {
      {"GET /v1/tokens", 401, {make, {"GET", "/v1/tokens", "", {}}}},
      {"GET /v1/tokens", 403, {make, admin}},
      {"POST /v1/claims/{}", 500, {kTake}, Behind::silent},
      {"POST /v1/claims/{}", 500, {kTake}, Behind::rotten},
      {"POST /v1/tallies/{}", 503, many, Behind::single},
  };
}

}  // namespace once::api

#include "testing/relay/dynamodb_faults.h"

#include <nlohmann/json.hpp>

namespace once::testing {
namespace {

using nlohmann::json;

std::string dynamodb_type(const std::string& type) {
  return "com.amazonaws.dynamodb.v20120810#" + type;
}

json& wants_of(json& of_table, bool reading) { return reading ? of_table["Keys"] : of_table; }

}  // namespace

Answer refused(const std::string& type, const std::string& status, const std::string& message) {
  return {.status = status,
          .body = json{{"__type", dynamodb_type(type)}, {"message", message}}.dump()};
}

Answer throttled() { return refused("ProvisionedThroughputExceededException"); }
Answer transaction_conflict() { return refused("TransactionConflictException"); }
Answer transaction_in_progress() { return refused("TransactionInProgressException"); }
Answer access_denied() { return refused("AccessDeniedException"); }
Answer internal_error() { return refused("InternalServerError", "500 Internal Server Error"); }

Answer service_unavailable() {
  return {.status = "503 Service Unavailable",
          .body = "<html><body>503</body></html>",
          .headers = {"Content-Type: text/html"}};
}

Answer transaction_cancelled(const RelayedRequest& request, std::size_t place) {
  const json body = json::parse(request.body);
  json reasons = json::array();
  for (std::size_t i = 0; i < body.at("TransactItems").size(); ++i) {
    if (i == place) {
      reasons.push_back(
          {{"Code", "TransactionConflict"}, {"Message", "Transaction is ongoing for the item"}});
    } else {
      reasons.push_back({{"Code", "None"}});
    }
  }
  return {.status = "400 Bad Request",
          .body = json{{"__type", dynamodb_type("TransactionCanceledException")},
                       {"Message", "Transaction cancelled"},
                       {"CancellationReasons", reasons}}
                      .dump()};
}

Fault unprocessed_beyond(std::size_t served, const RelayedRequest& request) {
  const bool reading = request.operation == "BatchGetItem";
  if (!reading && request.operation != "BatchWriteItem") return Pass{};
  const char* const name = reading ? "UnprocessedKeys" : "UnprocessedItems";
  json passed = json::parse(request.body);
  json left = json::object();
  json tables = json::object();
  for (auto& [table, wanted] : passed.at("RequestItems").items()) {
    json first = wanted;
    json rest = wanted;
    wants_of(first, reading) = json::array();
    wants_of(rest, reading) = json::array();
    for (const json& one : wants_of(wanted, reading)) {
      wants_of(served > 0 ? first : rest, reading).push_back(one);
      if (served > 0) --served;
    }
    if (!wants_of(first, reading).empty()) tables[table] = first;
    if (!wants_of(rest, reading).empty()) left[table] = rest;
  }
  if (tables.empty()) {
    json reply = {{name, left}};
    if (reading) reply["Responses"] = json::object();
    return Answer{.status = "200 OK", .body = reply.dump()};
  }
  passed["RequestItems"] = tables;
  return Edit{.body = passed.dump(), .reply = [name, left](const std::string& body) {
                json reply = json::parse(body, nullptr, /*allow_exceptions=*/false);
                if (!reply.is_object()) return body;
                reply[name] = left;
                return reply.dump();
              }};
}

}  // namespace once::testing

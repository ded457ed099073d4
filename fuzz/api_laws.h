// The API on a memory store, and the laws that every answer must keep.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/call.h"
#include "api/first_look.h"
#include "api/routes.h"
#include "events/event_request.h"
#include "fuzz/record_laws.h"
#include "once/blocking_driver.h"
#include "once/memory_store.h"
#include "testing/manual_clock.h"
#include "testing/openapi_operations.h"
#include "wire/json.h"

namespace once::fuzz {

// Statuses that any request may get: openapi.yaml lists them outside the operations.
inline bool told_for_all(const api::Request& request, int status) {
  if (status == 404 || status == 405) return true;
  return status == 204 && request.method == "OPTIONS";
}

inline const std::set<int>& statuses_of(const api::Route& route) {
  static const testing::Operations told = testing::operations_in(api::openapi_yaml());
  return told.at(std::string(route.method).append(" ").append(route.path));
}

// A problem has the form that openapi.yaml describes, and nothing else has its type.
inline void check_problem(const api::Response& response) {
  static const std::set<std::string> codes = testing::problem_codes_in(api::openapi_yaml());
  const bool problem = response.headers.find("Content-Type") == "application/problem+json";
  require(problem == (response.status >= 400));
  if (!problem) return;
  const Result<api::Json> body = api::parse_json(response.body);
  require(body && body->is_object());
  api::Fields fields(*body);
  require(fields.integer("status") == response.status);
  require(!fields.text("title").value_or("").empty());
  require(!fields.text("detail").value_or("").empty());
  require(codes.contains(fields.text("code").value_or("")));
  if (response.status == 503) require(response.headers.find("Retry-After").has_value());
}

inline void check_headers(const api::Response& response) {
  for (const auto& [name, value] : response.headers.fields()) {
    require(value.find_first_of(std::string("\r\n\0", 3)) == std::string::npos);
  }
}

class ApiWorld {
 public:
  ApiWorld() {
    service_.set_event_receiver(events_);
    require(driver_.run(api::learn_secret()).has_value());
  }

  // The answer, after all laws were checked.
  api::Response perform(const api::Request& request) {
    const bool guarded = !service_.tokens().empty();
    const auto resolved = api::resolve(service_, request);
    const Items before = items();
    api::Response response = answer(request);
    check_headers(response);
    check_problem(response);
    if (response.status >= 400) require_nothing_new(before);
    if (guarded && response.status == 401) return response;
    const bool told = resolved ? is_told(*resolved->route, response)
                               : response.status == 400 || told_for_all(request, response.status);
    require(told);
    if (response.headers.find("Content-Type") == "application/json") {
      require(is_document(request) || api::parse_json(response.body).has_value());
    }
    return response;
  }

 private:
  using Items = std::map<std::pair<std::string, std::int64_t>, Version>;

  // Documents keep their content type.
  static bool is_document(const api::Request& request) {
    return request.target.starts_with("/v1/docs/");
  }

  static bool is_told(const api::Route& route, const api::Response& response) {
    const bool follows =
        route.path == "/v1/logs/{}" && response.status == 501;  // Answered by the server.
    return follows || statuses_of(route).contains(response.status);
  }

  api::Response answer(const api::Request& request) {
    api::Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<api::Response>(&answer)) return std::move(*ready);
    const Duration patience = answer.waits + kAttemptLife;
    auto plan = std::get<Plan<api::Response>>(std::move(answer));
    Result<api::Response> ran = driver_.run(std::move(plan), patience);
    return ran ? std::move(*ran) : api::Service::failed(ran.error());
  }

  Items items() {
    Items all;
    ListRequest request{"", "", kMaxPage};
    do {
      const Result<ListPage> page = store_->list(request);
      require(page.has_value());
      for (const ListPage::Listed& one : page->items) {
        const Partition& partition = one.key.partition;
        all[{partition.home + '\0' + partition.part, one.key.sort}] = one.item.version;
      }
      request.cursor = page->cursor;
    } while (!request.cursor.empty());
    return all;
  }

  // An error other than `unknown`, which a memory store never gives, writes nothing. Items may have
  // expired while the request waited.
  void require_nothing_new(const Items& before) {
    for (const auto& [key, version] : items()) {
      const auto found = before.find(key);
      require(found != before.end() && found->second == version);
    }
  }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<MemoryStore> store_ = open_memory({}, clock_);
  BlockingDriver driver_{*store_, clock_, entropy_};
  events::PlannedEvents events_;
  api::Service service_;
};

}  // namespace once::fuzz

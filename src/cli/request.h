// Requests to the API, from the words of a command.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cli/invocation.h"
#include "cli/target.h"
#include "wire/json.h"
#include "wire/message.h"

namespace once::cli {

// "/v1/claims/a%2Fb/renew"; without `action`, "/v1/claims/a%2Fb".
std::string path_to(std::string_view noun, std::string_view name, std::string_view action = "");

// With the namespace that the invocation names.
api::Request request_for(const Invocation& invocation, std::string method, std::string target,
                         std::string body = "");

// A query from options that were given: "?from=1&limit=5", or "".
std::string query_of(const Invocation& invocation, std::initializer_list<std::string_view> options);

// Adds each of these options that was given as a text field of its own name.
void add_texts(api::JsonObject& body, const Invocation& invocation,
               std::initializer_list<std::string_view> options);

// The same of options that are durations: "30s", or a number of seconds.
void add_durations(api::JsonObject& body, const Invocation& invocation,
                   std::initializer_list<std::string_view> options);

// Sends a request that writes to where --store says, and prints the members of its answer.
int write_and_print(const Invocation& invocation, const api::Request& request,
                    const WriteOptions& options = {});

// What a write is known by, so that a repeat of it is no second one: --request, or one made up
// here.
class RequestId {
 public:
  // `also` is another name of that option. `invalid` if both are given.
  static Result<RequestId> of(const Invocation& invocation, std::string_view also = "");

  bool is_given() const { return is_given_; }

  // A command that sends several requests numbers them from 1.
  std::string of_batch(std::size_t number = 1) const {
    return number == 1 ? id_ : id_ + "/" + std::to_string(number);
  }

 private:
  RequestId(std::string id, bool is_given) : id_(std::move(id)), is_given_(is_given) {}

  std::string id_;
  bool is_given_;
};

// What people write where the API takes any JSON: JSON as it is, and anything else as a text.
std::string json_or_text(std::string_view written);

}  // namespace once::cli

// What a handler is given, and the table of all handlers.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/message.h"
#include "api/problem.h"
#include "api/service.h"

namespace once::api {

// One request on its way to its handler. It lives until the handler returns; a plan takes along
// what it needs.
struct Call {
  Service& service;
  const Request& request;
  std::string name_space;
  std::string name;  // Of the claim, stream, document or tally; empty where the path has none.

  // Query parameters that nobody takes are an error, as fields are.
  std::map<std::string, std::string, std::less<>> query;

  // Takes a parameter out of the query.
  std::optional<std::string> parameter(std::string_view name);
  Result<std::optional<std::int64_t>> integer(std::string_view name);
  Result<std::optional<Time>> time(std::string_view name);
  Result<void> finish_query() const;
};

using Handler = Answer (*)(Call& call);

enum class Access : std::uint8_t { open, read, write };

struct Route {
  std::string_view method;
  std::string_view path;  // Segments; one of them may be "{}", which takes a name.
  Handler handler;
  Access access = Access::write;
};

std::span<const Route> routes();

// The handlers, by file.
Answer take_claim(Call& call);
Answer renew_claim(Call& call);
Answer complete_claim(Call& call);
Answer release_claim(Call& call);
Answer show_claim(Call& call);
Answer forget_claim(Call& call);
Answer list_claims(Call& call);
Answer mark_seen(Call& call);

}  // namespace once::api

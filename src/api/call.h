// What a handler is given, and the table of all handlers.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/data_form.h"
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
  DataForm form = DataForm::json;

  // Query parameters that nobody takes are an error, as fields are.
  std::map<std::string, std::string, std::less<>> query;

  // The body; an empty one is an object without fields.
  Result<Json> json() const;

  // Takes a parameter out of the query.
  std::optional<std::string> parameter(std::string_view name);
  Result<std::optional<std::int64_t>> integer(std::string_view name);
  Result<std::optional<Time>> time(std::string_view name);
  Result<std::optional<Duration>> duration(std::string_view name);

  // Where the conflicts of this name count, such as "docs/a".
  HotSpot hot_spot(std::string_view kind) const;
};

using Handler = Answer (*)(Call& call);

enum class Access : std::uint8_t { open, read, write, admin };

struct Route {
  std::string_view method;
  std::string_view path;  // Segments; one of them may be "{}", which takes a name.
  Handler handler;
  Access access = Access::write;
};

std::span<const Route> routes();

// A request whose path, method, headers, names and query are sound; otherwise the answer to it.
struct Resolved {
  const Route* route;
  Call call;
};
std::expected<Resolved, Response> resolve(Service& service, const Request& request);

// The handlers, by file. They perform nothing but parsing: what they return does.
Answer make_token(Call& call);
Answer list_tokens(Call& call);
Answer revoke_token(Call& call);
Answer take_claim(Call& call);
Answer renew_claim(Call& call);
Answer complete_claim(Call& call);
Answer release_claim(Call& call);
Answer show_claim(Call& call);
Answer forget_claim(Call& call);
Answer list_claims(Call& call);
Answer mark_seen(Call& call);

Answer append_log(Call& call);
Answer read_log(Call& call);
Answer trim_log(Call& call);

Answer get_document(Call& call);
Answer put_document(Call& call);
Answer patch_document(Call& call);
Answer remove_document(Call& call);

Answer add_to_tally(Call& call);
Answer read_tally(Call& call);
Answer read_tallies(Call& call);

Answer commit_effects(Call& call);

Answer receive_events(Call& call);

Answer list_items(Call& call);
Answer import_items(Call& call);

Answer make_checkpoint(Call& call);

Answer list_hot_keys(Call& call);

Answer show_page(Call& call);
Answer show_health(Call& call);
Answer show_readiness(Call& call);
Answer show_openapi(Call& call);
Answer show_metrics(Call& call);

}  // namespace once::api

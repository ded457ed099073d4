// The arguments of a handler, and all handlers.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/routes.h"
#include "api/service.h"
#include "wire/data_form.h"
#include "wire/listing.h"
#include "wire/message.h"
#include "wire/problem.h"

namespace once::api {

// One request on its way to its handler. It lives until the handler returns; a plan copies what it
// needs.
struct Call {
  Service& service;
  const Request& request;
  std::string name_space;
  std::string name;  // Of the claim, stream, document or tally; empty where the path has none.
  DataForm form = DataForm::json;
  std::optional<Duration> timeout;  // Once-Timeout.

  // As the answer has it. Empty in the caller's own process. Good while the handler runs.
  std::string_view request_id;

  // Parameters that the handler does not take are an error, like unknown fields of a body.
  std::map<std::string, std::string, std::less<>> query;

  // Whether the caller may be told of the server itself, such as where its data is: anyone where it
  // is open, and otherwise a holder of a token for all namespaces.
  bool may_see_server() const;

  // What the caller's token grants: everything where anyone may call, nothing without a good token.
  std::optional<tokens::Grant> grant() const;

  // The token that it was allowed by; nothing where anyone may call.
  std::optional<std::string> token_id() const;

  // The body; an empty one is an object without fields.
  Result<Json> json() const;

  // Takes a parameter out of the query.
  std::optional<std::string> parameter(std::string_view name);
  Result<std::optional<std::int64_t>> integer(std::string_view name);
  Result<std::optional<Time>> time(std::string_view name);
  Result<std::optional<Duration>> duration(std::string_view name);

  // The parameters of every listing: prefix, limit and cursor.
  Result<wire::ListingRequest> listing();

  // Where the conflicts of this name count, such as "docs/a".
  HotSpot hot_spot(std::string_view kind) const;
};

// A request whose path, method, headers, names and query are valid and whose token allows it;
// otherwise the answer to it.
struct Resolved {
  const Route* route;
  Call call;
};
std::expected<Resolved, Response> resolve(Service& service, const Request& request);
std::expected<Resolved, Response> resolve(Service& service, const Request& request,
                                          const RouteMatch& match);

// The parameters of a listing, as the primitives take them.
Result<Listing> listing_of(Call& call);

// Runs the handler of the row.
Answer handle(Resolved& resolved);

// The handlers, by file.
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
Answer forget_claims(Call& call);
Answer retry_claims(Call& call);
Answer release_claims(Call& call);
Answer mark_seen(Call& call);
Answer show_seen(Call& call);
Answer forget_seen(Call& call);

Answer append_log(Call& call);
Answer read_log(Call& call);
Answer trim_log(Call& call);
Answer close_log(Call& call);
Answer remove_log(Call& call);
Answer list_logs(Call& call);
Answer delete_logs(Call& call);

Answer list_documents(Call& call);
Answer remove_documents(Call& call);
Answer get_document(Call& call);
Answer put_document(Call& call);
Answer patch_document(Call& call);
Answer remove_document(Call& call);

Answer add_to_tally(Call& call);
Answer read_tally(Call& call);
Answer read_tallies(Call& call);
Answer remove_tally(Call& call);
Answer list_tallies(Call& call);
Answer remove_tallies(Call& call);

Answer commit_effects(Call& call);

Answer receive_events(Call& call);

Answer list_items(Call& call);
Answer import_items(Call& call);

Answer make_checkpoint(Call& call);

Answer list_hot_keys(Call& call);

Answer list_namespaces(Call& call);
Answer list_workers(Call& call);
Answer list_event_routes(Call& call);
Answer show_history(Call& call);

Answer show_findings(Call& call);

Answer show_page(Call& call);
Answer show_asset(Call& call);
Answer show_caller(Call& call);
Answer show_health(Call& call);
Answer show_readiness(Call& call);
Answer show_openapi(Call& call);
Answer show_metrics(Call& call);

}  // namespace once::api

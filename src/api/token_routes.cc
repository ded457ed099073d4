// Tokens over the API, so that `once token` works where a server owns the directory.
#include "api/call.h"
#include "api/tokens.h"
#include "primitives/keys.h"

namespace once::api {
namespace {

constexpr std::size_t kMaxTokenLabel = 256;

JsonObject shown(const tokens::Token& token) {
  JsonObject out;
  out.text("id", token.id).text("label", token.grant.label);
  if (token.grant.name_space.empty()) {
    out.raw("namespace", "null");
  } else {
    out.text("namespace", token.grant.name_space);
  }
  out.boolean("read_only", token.grant.read_only).time("created_at", token.grant.created);
  return out;
}

Plan<Response> made(tokens::Table* table, std::string secret, tokens::Grant grant) {
  tokens::Token token{tokens::id_of(secret), std::move(grant)};
  token.grant.created = co_await store_now();
  co_await tokens::keep(token.id, token.grant);
  table->add(token);
  co_return json_response(201, shown(token).text("token", secret).finish());
}

Plan<Response> listed() {
  const std::vector<tokens::Token> all = co_await tokens::list();
  JsonObject body;
  body.raw("tokens",
           json_array(all, [](const tokens::Token& token) { return shown(token).finish(); }));
  co_return json_response(200, body.finish());
}

Plan<Response> revoked(tokens::Table* table, std::string id) {
  const bool found = co_await tokens::revoke(id);
  table->remove(id);
  if (!found) co_return problem(Code::not_found, "there is no such token");
  co_return Response{204, {}, ""};
}

}  // namespace

Answer make_token(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  tokens::Grant grant{.name_space = fields.text("namespace").value_or(""),
                      .read_only = fields.boolean("read_only").value_or(false),
                      .label = fields.text("label").value_or("")};
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  if (grant.label.size() > kMaxTokenLabel) return problem(Code::invalid, "label is too long");
  if (!grant.name_space.empty()) {
    if (Result<void> ok = keys::check_namespace(grant.name_space); !ok) return problem(ok.error());
  }
  Result<std::string> secret = tokens::new_secret();
  if (!secret) return problem(secret.error());
  return made(&call.service.tokens(), std::move(*secret), std::move(grant));
}

Answer list_tokens(Call&) { return listed(); }

Answer revoke_token(Call& call) { return revoked(&call.service.tokens(), call.name); }

}  // namespace once::api

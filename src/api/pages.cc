// The start page, health and readiness, metrics, and openapi.yaml.
#include "api/call.h"
#include "api/console.h"
#include "api/routes.h"
#include "primitives/keys.h"
#include "wire/proof.h"

namespace once::api {
namespace {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string page(std::string_view store) {
  std::string out = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Once</title>
<h1>Once</h1>
<p>What you commit here takes effect once.</p>
)";
  if (!store.empty()) out += "<p>Store: " + html_text(store) + "</p>\n";
  return out + R"(<ul>
<li><a href="/openapi.yaml">/openapi.yaml</a>: every call, with its answers</li>
<li><a href="/healthz">/healthz</a>: whether the server runs</li>
<li><a href="/readyz">/readyz</a>: whether its store answers</li>
<li><a href="/metrics">/metrics</a>: what it did, for Prometheus</li>
</ul>
</html>
)";
}

Response typed(std::string_view type, std::string body) {
  Response response{200, {}, std::move(body)};
  response.headers.add("Content-Type", std::string(type));
  return response;
}

// What is wrong with the store may name its place.
Response not_ready(const Error& why, bool may_know) {
  return problem(Code::unavailable,
                 may_know ? why.message : "the store does not answer, or takes no writes");
}

// Reads any key, to see whether the store answers.
Plan<Response> ready(Key key, bool may_know) {
  const Result<std::optional<Item>> answer = co_await attempt(get(key));
  if (!answer) co_return not_ready(answer.error(), may_know);
  co_return json_response(200, R"({"status":"ready"})");
}

}  // namespace

Answer show_page(Call& call) {
  if (accepts_html(call.request.headers)) return console_page(call.request);
  return typed("text/html; charset=utf-8",
               page(call.may_see_server() ? call.service.options().store : ""));
}

Answer show_health(Call& call) {
  JsonObject body;
  const ServiceOptions& options = call.service.options();
  body.text("status", "ok").text("instance", options.instance);
  const auto number = call.request.headers.find(wire::kProve);
  const std::string url = call.service.url();
  if (number && number->size() <= wire::kMaxNumber && !options.secret.empty() && !url.empty()) {
    body.text("proof", wire::proof_of(options.secret, *number, url));
  }
  return json_response(200, body.finish());
}

// A store that answers may still refuse every write.
Answer show_readiness(Call& call) {
  const auto& check_writable = call.service.options().check_writable;
  const Result<void> writable = check_writable ? check_writable() : Result<void>();
  const bool may_know = call.may_see_server();
  if (!writable) return not_ready(writable.error(), may_know);
  return ready(keys::claim(call.name_space, "readyz"), may_know);
}

// A caller of one namespace learns nothing of others, nor of the server.
Answer show_metrics(Call& call) {
  return typed(metrics::kContentType, call.may_see_server()
                                          ? call.service.metrics().registry().text()
                                          : call.service.tenants().page_of(call.name_space));
}

Answer show_openapi(Call&) { return typed("application/yaml", std::string(openapi_yaml())); }

}  // namespace once::api

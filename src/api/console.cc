// The console's files, and what its caller may do here.
#include "api/console.h"

#include "api/call.h"
#include "console/assets.h"
#include "wire/text.h"

namespace once::api {
namespace {

// Scripts, styles and requests of this server alone; nothing inline, and in no frame.
constexpr std::string_view kPolicy =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'";

bool lists(const wire::Headers& headers, std::string_view name, std::string_view what) {
  const auto value = headers.find(name);
  return value && lowered(*value).find(what) != std::string::npos;
}

// Browsers ask each time whether a file has changed, so that no page mixes two versions.
Response asset_response(const console::Asset& asset, const Request& request) {
  Response response{200, {}, ""};
  response.headers.add("ETag", std::string(asset.etag));
  response.headers.add("Cache-Control", "no-cache");
  response.headers.add("Content-Security-Policy", std::string(kPolicy));
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("Referrer-Policy", "no-referrer");
  response.headers.add("Vary", "Accept, Accept-Encoding");
  if (lists(request.headers, "If-None-Match", asset.etag)) {
    response.status = 304;
    return response;
  }
  response.headers.add("Content-Type", std::string(asset.type));
  const bool gzip = lists(request.headers, "Accept-Encoding", "gzip");
  if (gzip) response.headers.add("Content-Encoding", "gzip");
  response.body = gzip ? asset.gzip : asset.bytes;
  return response;
}

std::string_view access_of(const std::optional<tokens::Grant>& grant) {
  if (!grant) return "none";
  if (grant->read_only) return "read";
  return grant->name_space.empty() ? "admin" : "write";
}

}  // namespace

bool accepts_html(const wire::Headers& headers) {
  return lists(headers, "Accept", "text/html") || lists(headers, "Accept", "*/*");
}

Response console_page(const Request& request) {
  return asset_response(*console::find_asset("index.html"), request);
}

Answer show_asset(Call& call) {
  const console::Asset* const asset = console::find_asset(call.name);
  if (asset == nullptr) return problem(Code::not_found, "the console has no such file");
  return asset_response(*asset, call.request);
}

// Answered to anyone, so that a page can ask for a token without first being refused.
Answer show_caller(Call& call) {
  const std::optional<tokens::Grant> grant = call.grant();
  JsonObject body;
  body.boolean("open", call.service.is_open()).text("access", access_of(grant));
  if (grant) {
    const bool bound = !grant->name_space.empty();
    body.boolean("bound", bound).text("namespace", bound ? grant->name_space : call.name_space);
  }
  if (call.may_see_server()) body.text("store", call.service.options().store);
  return json_response(200, body.finish());
}

}  // namespace once::api

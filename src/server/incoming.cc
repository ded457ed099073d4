#include "server/incoming.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>
#include <string>

#include "server/header_scan.h"
#include "wire/problem.h"

namespace once::server {
namespace {

namespace http = boost::beast::http;

// One item is as large as a document, in base64.
std::size_t most_for_items(const Settings& settings) {
  return settings.max_body_bytes + settings.max_document_bytes / 2 * 3;
}

constexpr unsigned kHttp10 = 10;

}  // namespace

std::size_t body_limit(api::BodyLimit limit, const Settings& settings) {
  switch (limit) {
    case api::BodyLimit::normal: return settings.max_body_bytes;
    case api::BodyLimit::document: return settings.max_document_bytes;
    case api::BodyLimit::items: return most_for_items(settings);
  }
  return settings.max_body_bytes;
}

std::size_t smallest_body_limit(const Settings& settings) {
  return std::min(settings.max_body_bytes, settings.max_document_bytes);
}

std::size_t largest_body_limit(const Settings& settings) {
  return std::max(settings.max_body_bytes, most_for_items(settings));
}

RequestHead::RequestHead(const IncomingHead& parsed, bool stays_open)
    : request{std::string(parsed.method_string()), origin_form(parsed.target()), {}, {}},
      keep_alive(stays_open),
      http_1_0(parsed.version() == kHttp10),
      expects_continue(parsed.find(http::field::expect) != parsed.end()) {
  for (const auto& field : parsed) {
    request.headers.add(std::string(field.name_string()), std::string(field.value()));
  }
}

api::Response too_large(std::size_t limit) {
  return api::problem(api::Code::too_large,
                      "a body has at most " + std::to_string(limit) + " bytes");
}

api::Response header_too_long() {
  return api::Problem(api::Code::too_large, "the header is too long").status(431).finish();
}

api::Response not_http(std::string_view why) {
  return api::problem(api::Code::invalid, "not HTTP/1.1: " + std::string(why));
}

api::Response refusal_of(const boost::system::error_code& error, const Settings& settings) {
  if (error == http::error::body_limit) return too_large(settings.max_body_bytes);
  if (error == http::error::header_limit) return header_too_long();
  return not_http(error.message());
}

}  // namespace once::server

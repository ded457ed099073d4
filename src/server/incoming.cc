#include "server/incoming.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/verb.hpp>
#include <string>

#include "api/problem.h"

namespace once::server {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kAnswerBytes = 64U << 10;  // What an answer that may be long is taken for.

// One item is as large as a document, and in base64.
std::size_t most_for_items(const Settings& settings) {
  return settings.max_body_bytes + settings.max_document_bytes / 2 * 3;
}

}  // namespace

std::size_t body_limit(const IncomingHead& head, const Settings& settings) {
  const auto target = head.target();
  if (target.starts_with("/v1/docs/")) return settings.max_document_bytes;
  return target.starts_with("/v1/items") ? most_for_items(settings) : settings.max_body_bytes;
}

std::size_t largest_body(const Settings& settings) {
  return std::max(settings.max_body_bytes, most_for_items(settings));
}

// What answers with a small one, but for the result of a claim, is a POST.
std::size_t weight_of(const Incoming& request) {
  const bool small = request.method() == http::verb::post;
  return request.body().size() + (small ? 0 : kAnswerBytes);
}

api::Request to_api(const IncomingHead& head) {
  api::Request request{std::string(head.method_string()), std::string(head.target()), {}, {}};
  for (const auto& field : head) {
    request.headers.add(std::string(field.name_string()), std::string(field.value()));
  }
  return request;
}

api::Response too_large(std::size_t limit) {
  return api::problem(api::Code::too_large,
                      "a body has at most " + std::to_string(limit) + " bytes");
}

api::Response refusal_of(const boost::system::error_code& error, const Settings& settings) {
  if (error == http::error::body_limit) return too_large(settings.max_body_bytes);
  if (error == http::error::header_limit) {
    return api::Problem(api::Code::too_large, "the header is too long").status(431).finish();
  }
  return api::problem(api::Code::invalid, "not HTTP/1.1: " + error.message());
}

}  // namespace once::server

// Requests as Beast reads them: their size limits, their errors, and their form for the API.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <string_view>

#include "api/routes.h"
#include "server/server.h"
#include "wire/message.h"

namespace once::server {

using IncomingHead = boost::beast::http::request_header<>;

// Sizes of bodies: by the limit of the operation, and the smallest and largest of all limits.
std::size_t body_limit(api::BodyLimit limit, const Settings& settings);
std::size_t smallest_body_limit(const Settings& settings);
std::size_t largest_body_limit(const Settings& settings);

// A request, copied when its header was complete. The body is added later. What a trailer says is
// never part of it: it would be believed without having been judged (docs/hazards.md#h42).
struct RequestHead {
  RequestHead(const IncomingHead& parsed, bool stays_open);

  api::Request request;
  bool keep_alive = true;  // The client wants to send more on this connection.
  bool http_1_0 = false;
  bool expects_continue = false;
};

// The answers to a body that is too large, and to bytes that are no request.
api::Response too_large(std::size_t limit);
api::Response header_too_long();
api::Response not_http(std::string_view why);
api::Response refusal_of(const boost::system::error_code& error, const Settings& settings);

}  // namespace once::server

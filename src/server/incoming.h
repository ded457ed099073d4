// Requests as Beast reads them: their size limits, their errors, and their form for the API.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>

#include "api/routes.h"
#include "server/server.h"
#include "wire/message.h"

namespace once::server {

using Incoming = boost::beast::http::request<boost::beast::http::string_body>;
using IncomingHead = boost::beast::http::request_header<>;

// Sizes of bodies: by the limit of the operation, and the smallest and largest of all limits.
std::size_t body_limit(api::BodyLimit limit, const Settings& settings);
std::size_t smallest_body_limit(const Settings& settings);
std::size_t largest_body_limit(const Settings& settings);

// About how many bytes of memory it takes until it is answered.
std::size_t weight_of(const Incoming& request);

api::Request to_api(const IncomingHead& head);

// The answers to a body that is too large, and to bytes that are no request.
api::Response too_large(std::size_t limit);
api::Response refusal_of(const boost::system::error_code& error, const Settings& settings);

}  // namespace once::server

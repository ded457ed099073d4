// Requests as Beast reads them: how large they may be, why one is none, and what the API sees.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>

#include "api/message.h"
#include "server/settings.h"

namespace once::server {

using Incoming = boost::beast::http::request<boost::beast::http::string_body>;
using IncomingHead = boost::beast::http::request_header<>;

// Of the body of a request like this, and of any.
std::size_t body_limit(const IncomingHead& head, const Settings& settings);
std::size_t largest_body(const Settings& settings);

// About how many bytes it takes until it is answered.
std::size_t weight_of(const Incoming& request);

api::Request to_api(const IncomingHead& head);

// What is answered when a body is too large, or when what came is no request.
api::Response too_large(std::size_t limit);
api::Response refusal_of(const boost::system::error_code& error, const Settings& settings);

}  // namespace once::server

// URIs of RFC 3986, and those of HTTP endpoints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace once {

// A URI-reference, and one with a scheme.
bool is_uri_reference(std::string_view text);
bool is_absolute_uri(std::string_view text);

// What a request is sent to.
struct HttpEndpoint {
  std::string server;  // http://host:port or https://host:port
  std::string target;  // /path?query
};

// Nothing if it is no http or https URL of up to 2,048 bytes, or has a user or a fragment.
std::optional<HttpEndpoint> parse_endpoint(std::string_view url);

}  // namespace once

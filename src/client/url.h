// The address of a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace once::client {

struct Url {
  bool tls = false;
  std::string host;  // A name or an address, without brackets.
  std::string port;
  std::string authority;  // For the Host header.
};

// http://host, https://host, or either with :port, with or without a slash at the end, and no more:
// no path, no user. Nothing for any other text.
std::optional<Url> parse_url(std::string_view text);

}  // namespace once::client

// HTTP messages as the stores on Amazon's services see them: no sockets, no signatures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace once::aws {

struct Header {
  std::string name;
  std::string value;

  friend bool operator==(const Header&, const Header&) = default;
};

struct Request {
  std::string method = "POST";
  std::string path = "/";       // Percent-encoded, as it goes out.
  std::string query;            // Percent-encoded, without the question mark.
  std::vector<Header> headers;  // Host, Content-Length and what signing adds are not among them.
  std::string body;
  bool repeatable = false;  // Safe to send again after an unknown outcome.
};

struct Response {
  int status = 0;
  std::vector<Header> headers;
  std::string body;
};

std::string lowered(std::string_view text);  // ASCII letters.

// The value of the first header of that name in any case; "" without one.
std::string_view header_of(const std::vector<Header>& headers, std::string_view name);

}  // namespace once::aws

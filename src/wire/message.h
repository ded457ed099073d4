// A request of the API and its answer, carried by a socket or by a call in the same process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/telemetry.h"

namespace once::wire {

// Names are compared without regard to case.
class Headers {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  void add(std::string name, std::string value);

  // The first header of this name.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;

  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// The media type in Content-Type, in lower case and without parameters; empty if the header is
// missing.
std::string media_type(const Headers& headers);

struct Request {
  std::string method = "GET";
  std::string target = "/";  // Path and query, percent-encoded.
  Headers headers;
  std::string body;
};

struct Response {
  int status = 200;
  Headers headers;  // Without those about framing: Content-Length, Connection, Date.
  std::string body;
  Telemetry telemetry = {};
};

// "/v1/claims/a%2Fb/renew", for the noun "claims", the name "a/b" and the action "renew".
std::string path_to(std::string_view noun, std::string_view name, std::string_view action = "");

// Whether the answer is that of an earlier request.
bool is_replay(const Response& response);

}  // namespace once::wire

namespace once::api {
using namespace wire;
}

// A request and its answer, as the API sees them: whoever carries them, a socket or a call in the
// same process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/notes.h"
#include "once/plan.h"
#include "once/write.h"

namespace once::api {

// Names are compared without regard to case.
class Headers {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  void add(std::string name, std::string value);

  // The first of this name; nothing if there is none.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;

  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// The type of a Content-Type, in lower case and without its parameters; empty if there is none.
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
  Notes notes = {};
};

// Ready, or still to be run by a driver, which is to give up when it took longer than it `waits`
// for others and at most kAttemptLife: what is sent again and again must not be on its way for
// longer than that.
struct Answer : std::variant<Response, Plan<Response>> {
  using variant::variant;

  Duration waits{};
};

}  // namespace once::api

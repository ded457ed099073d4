// Bodies of requests, one after the other on the same store. Each line is a request: a letter for
// the route, and the body, in which $ticket is the last ticket received and the byte 30 is a
// newline.
#include "fuzz/api_laws.h"

namespace once::fuzz {
namespace {

constexpr std::size_t kMaxRequests = 16;

struct Door {
  char letter;
  const char* method;
  const char* target;
  const char* header = nullptr;
  const char* value = nullptr;
};

constexpr Door kDoors[] = {
    {'c', "POST", "/v1/claims/a"},
    {'r', "POST", "/v1/claims/a/renew"},
    {'d', "POST", "/v1/claims/a/complete"},
    {'l', "POST", "/v1/claims/a/release"},
    {'g', "GET", "/v1/claims/a"},
    {'f', "DELETE", "/v1/claims/a"},
    {'L', "GET", "/v1/claims"},
    {'s', "POST", "/v1/seen"},
    {'a', "POST", "/v1/logs/s"},
    {'t', "POST", "/v1/logs/s?batch=b", "Content-Type", "text/plain"},
    {'n', "POST", "/v1/logs/s", "Content-Type", "application/x-ndjson"},
    {'R', "GET", "/v1/logs/s"},
    {'T', "POST", "/v1/logs/s/trim"},
    {'p', "PUT", "/v1/docs/d", "If-None-Match", "*"},
    {'D', "GET", "/v1/docs/d"},
    {'m', "PATCH", "/v1/docs/d", "Content-Type", "application/merge-patch+json"},
    {'j', "PATCH", "/v1/docs/d", "Content-Type", "application/json-patch+json"},
    {'y', "POST", "/v1/tallies/t"},
    {'Y', "GET", "/v1/tallies/t"},
    {'i', "GET", "/v1/tallies/t?item=x"},
    {'q', "POST", "/v1/tallies/read"},
    {'x', "POST", "/v1/commit"},
    {'k', "POST", "/v1/tokens"},
};

std::string filled(std::string_view text, const std::string& ticket) {
  std::string body(text);
  std::ranges::replace(body, '\x1e', '\n');
  constexpr std::string_view kHole = "$ticket";
  const std::size_t at = body.find(kHole);
  if (at != std::string::npos) body.replace(at, kHole.size(), ticket);
  return body;
}

class Caller {
 public:
  void send(std::string_view line) {
    for (const Door& door : kDoors) {
      if (door.letter != line.front()) continue;
      api::Request request{door.method, door.target, {}, filled(line.substr(1), ticket_)};
      if (door.header != nullptr) request.headers.add(door.header, door.value);
      note(world_.perform(request));
    }
  }

 private:
  void note(const api::Response& response) {
    const Result<api::Json> body = api::parse_json(response.body);
    if (!body || !body->is_object()) return;
    if (auto ticket = api::Fields(*body).text("ticket")) ticket_ = *ticket;
  }

  ApiWorld world_;
  std::string ticket_;
};

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  once::fuzz::Caller caller;
  for (std::size_t i = 0; i < once::fuzz::kMaxRequests && !text.empty(); ++i) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) caller.send(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}

// A request of the API and its answer, carried by a socket or by a call in the same process.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/time.h"

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

// Where a request came from, as numbers that are equal for equal places. 0: it is not known.
struct Peer {
  std::uint64_t address = 0;
  std::uint64_t connection = 0;
};

struct Request {
  std::string method = "GET";
  std::string target = "/";  // Path and query, percent-encoded.
  Headers headers;
  std::string body;
  Peer peer = {};
};

enum class Outcome : std::uint8_t {
  executed,
  read,
  passed,      // Through a proxy, without a key.
  taken_over,  // Claimed again, after an expired lease or a failure.
  replayed,
  unguarded,
  busy,
  mismatch,
  fenced,
  precondition_failed,
  precondition_required,
  not_found,
  invalid,
  too_large,
  contended,
  closed,
  unauthorized,
  forbidden,
  unsupported,
  overloaded,
  handler_failed,  // The handler of a forwarded event did not accept it.
  unavailable,
  unknown,
  corrupt,
};
inline constexpr std::size_t kOutcomes = static_cast<std::size_t>(Outcome::corrupt) + 1;

std::string_view name_of(Outcome outcome);

// What happened to a request, for metrics and the journal. Travels with the answer; is not sent.
struct Telemetry {
  std::optional<Outcome> outcome;  // Empty: executed, read or replayed, as the answer shows.
  std::optional<Time> original;    // If this is a duplicate: when the first one was done.
  std::string event_type;          // Type and id of a CloudEvent.
  std::string event_id;
  bool waited = false;  // The caller allowed waiting for another holder.

  // Claims: how many keys were checked, recorded as done, released, and found done.
  std::uint32_t checked = 0;
  std::uint32_t marked = 0;
  std::uint32_t removed = 0;
  std::uint32_t duplicates = 0;

  std::optional<Outcome> ignored_error;  // Store error ignored by --if-store-down=proceed.

  // Time of the claim check alone, if the request did more than that.
  std::optional<std::chrono::nanoseconds> check_duration;

  std::uint32_t conflicts = 0;  // How often another writer changed the document first.

  std::vector<std::string> appended;  // The streams that have new events, for their followers.

  std::vector<Telemetry> parts;  // Of a batch: one for each event; then nothing above is set.
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

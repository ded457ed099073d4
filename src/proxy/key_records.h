// What the proxy remembers of each request with a key: a claim, through the API in this process or
// at a server.
//
// A claim is taken just before the first byte goes to the upstream. So it is both the lock and the
// mark that sending began: if the proxy dies after it, nothing is sent again. Its lease is kHold
// plus the time that the request may take. Until kHold before the lease's end the request may be in
// flight; after that its outcome is unknown, and the claim is never taken over.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "once/claims.h"
#include "proxy/stored_answer.h"
#include "wire/message.h"

namespace once::proxy {

// To the API; at most kStoreCall long.
using Call = std::function<Result<api::Response>(const api::Request&)>;
inline constexpr Duration kStoreCall = std::chrono::seconds(10);

inline constexpr Duration kHold = std::chrono::days(29);

enum class AfterUnknown : std::uint8_t { refuse, retry };

// Whether other processes may have requests in flight. If the store is this process's alone, the
// claims of other processes have no holder any more.
enum class SharedStore : std::uint8_t { yes, no };

struct KeyRecordsOptions {
  std::string instance;  // Tells this process from others.
  SharedStore shared_store = SharedStore::yes;
  std::string name_space;  // Empty: the API's own default.
  Duration ttl = std::chrono::hours(24);
  Duration patience{};  // From taking a claim until its request has an outcome.
  AfterUnknown after_unknown = AfterUnknown::refuse;
};

struct Fresh {};           // May be sent.
struct InFlight {};        // Another one is on its way.
struct OutcomeUnknown {};  // Sent, and its answer was lost.
struct OtherBody {};       // The key was used with another body.
using KeyState = std::variant<Fresh, InFlight, OutcomeUnknown, OtherBody, StoredAnswer>;

struct Overtaken {};  // Another request was faster: look again.
using Taking = std::variant<Ticket, Overtaken, Unguarded>;

// Not safe to share between threads. A failure is `unavailable`, `unknown` or `corrupt`.
class KeyRecords {
 public:
  KeyRecords(Call call, KeyRecordsOptions options, Clock& clock = system_clock())
      : call_(std::move(call)), options_(std::move(options)), clock_(clock) {}

  // The state of the key `name`, for a request whose body has this digest. One read.
  Result<KeyState> look(const std::string& name, const std::string& digest);

  Result<Taking> take(const std::string& name, const std::string& digest);

  // Stores the answer; if it is too large, its status and length. Nothing is stored if the claim
  // was forgotten meanwhile.
  Result<void> complete(const std::string& name, const Ticket& ticket, const api::Response& answer);

  // For an answer that was too large even for the proxy's memory.
  Result<void> complete_without_body(const std::string& name, const Ticket& ticket, int status,
                                     std::uint64_t body_bytes);

  Result<void> free(const std::string& name, const Ticket& ticket);

  // Refuses the key from now on, or frees it, as AfterUnknown says.
  Result<void> mark_unknown(const std::string& name, const Ticket& ticket);

 private:
  api::Request request_for(const std::string& method, const std::string& name,
                           std::string_view action, std::string body) const;

  Result<api::Response> store(const std::string& name, const Ticket& ticket, const Bytes& record);

  // Repeats a request that may pass, a few times: all of them may be sent twice.
  Result<api::Response> write(const api::Request& request);

  std::string owner_for(const std::string& digest) const;
  KeyState state_while_busy(std::string_view owner, Time lease_until) const;

  const Call call_;
  const KeyRecordsOptions options_;
  Clock& clock_;
};

}  // namespace once::proxy

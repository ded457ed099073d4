// What the proxy remembers of each request with a key: a claim.
//
// A claim is taken just before the first byte goes to the upstream. So it is both the lock and the
// mark that sending began: if the proxy dies after it, nothing is sent again. Its lease is kHold
// plus the time that the request may take. Until kHold before the lease's end the request may be in
// flight; after that its outcome is unknown, and the claim is never taken over.
#pragma once

#include <string>
#include <variant>

#include "once/claims.h"
#include "once/entropy.h"
#include "proxy/stored_answer.h"

namespace once::proxy {

inline constexpr Duration kStoreCall = std::chrono::seconds(10);  // The longest of one call.

inline constexpr Duration kHold = std::chrono::days(29);

enum class AfterUnknown : std::uint8_t { refuse, retry };

// Whether other processes may have requests in flight. If the store is this process's alone, the
// claims of other processes have no holder any more.
enum class SharedStore : std::uint8_t { yes, no };

struct KeyRecordsOptions {
  std::string instance;  // Tells this process from others.
  SharedStore shared_store = SharedStore::yes;
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

// Safe to share between threads. A failure is `unavailable`, `unknown` or `corrupt`.
class KeyRecords {
 public:
  // All but the options must outlive it.
  KeyRecords(Claims& claims, KeyRecordsOptions options, Clock& clock = system_clock(),
             Entropy& entropy = system_entropy())
      : claims_(claims), options_(std::move(options)), clock_(clock), entropy_(entropy) {}

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
  Result<SettleOutcome> store(const std::string& name, const Ticket& ticket, const Bytes& record);

  // Repeats a write that may succeed later, a few times: each may be sent twice.
  template <class Write>
  auto repeat(Write write);

  std::string owner_for(const std::string& digest) const;
  KeyState state_while_busy(std::string_view owner, Time lease_until) const;

  Claims& claims_;
  const KeyRecordsOptions options_;
  Clock& clock_;
  Entropy& entropy_;
};

}  // namespace once::proxy

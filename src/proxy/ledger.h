// What the proxy remembers of the requests with a key: a claim for each, kept through the claims of
// the API, in this process or at a server.
//
// A claim is taken just before the first byte goes to the upstream, so that it is at once the lock
// and the mark that sending began: whatever ends the proxy after it, nothing is sent again. Its
// lease is kHold and the time that the request may take. Until kHold before the lease's end the
// request may be in flight; after this its outcome is unknown, and nobody takes the claim over.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "api/message.h"
#include "once/claims.h"
#include "proxy/stored_answer.h"

namespace once::proxy {

// To the API; at most kStoreCall long.
using Call = std::function<Result<api::Response>(const api::Request&)>;
inline constexpr Duration kStoreCall = std::chrono::seconds(10);

inline constexpr Duration kHold = std::chrono::days(29);

enum class AfterUnknown : std::uint8_t { refuse, retry };

// Who else may have requests in flight. Alone on a store, whatever another process claimed has no
// holder any more.
enum class Others : std::uint8_t { may_be, are_not };

struct LedgerOptions {
  std::string instance;  // Tells this process from others.
  Others others = Others::may_be;
  std::string name_space;  // Empty: the API's own default.
  Duration ttl = std::chrono::hours(24);
  Duration patience{};  // From taking a claim until its request has an outcome.
  AfterUnknown after_unknown = AfterUnknown::refuse;
};

struct Fresh {};      // May be sent.
struct InFlight {};   // Another one is on its way.
struct Lost {};       // Sent, and nobody knows what became of it.
struct OtherBody {};  // The key was used with another body.
using Standing = std::variant<Fresh, InFlight, Lost, OtherBody, StoredAnswer>;

struct Overtaken {};  // Another request was faster: look again.
using Taking = std::variant<Ticket, Overtaken, Unguarded>;

// Not safe to share between threads. A failure is `unavailable`, `unknown` or `corrupt`.
class Ledger {
 public:
  Ledger(Call call, LedgerOptions options, Clock& clock = system_clock())
      : call_(std::move(call)), options_(std::move(options)), clock_(clock) {}

  // What stands under `name`, for a request whose body has this digest. One read.
  Result<Standing> look(const std::string& name, const std::string& digest);

  Result<Taking> take(const std::string& name, const std::string& digest);

  // The answer is stored; if it is too large, then that it was given, and without its body. A claim
  // that was forgotten meanwhile has nothing to remember.
  Result<void> complete(const std::string& name, const Ticket& ticket, const api::Response& answer);

  // For one that was too large to be held even here.
  Result<void> complete_without_body(const std::string& name, const Ticket& ticket, int status,
                                     std::uint64_t body_bytes);

  Result<void> free(const std::string& name, const Ticket& ticket);

  // As AfterUnknown says.
  Result<void> lose(const std::string& name, const Ticket& ticket);

 private:
  api::Request request_for(const std::string& method, const std::string& name,
                           std::string_view action, std::string body) const;

  Result<api::Response> store(const std::string& name, const Ticket& ticket, const Bytes& record);

  // All that is written may be repeated, and is, a few times.
  Result<api::Response> write(const api::Request& request);

  std::string owner_for(const std::string& digest) const;
  Standing standing_while_busy(std::string_view owner, Time lease_until) const;

  const Call call_;
  const LedgerOptions options_;
  Clock& clock_;
};

}  // namespace once::proxy

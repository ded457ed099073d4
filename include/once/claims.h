// Claims grant each key to one holder at a time and keep the outcome:
//
//   absent -> busy (owner, lease, fence) -> done (result), failed for good, or free again
//
// A busy claim whose lease ended may be taken over. The fence then rises, and every later call with
// the old holder's ticket is refused as fenced. Time is the store's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "once/plan.h"

namespace once {

inline constexpr std::size_t kMaxLabel = 512;  // Bytes of an owner or a request id.

struct ClaimRequest {
  std::string owner;                   // A label for people.
  std::string request;                 // An equal one gets the same ticket again while busy.
  std::optional<std::string> payload;  // Remembered as a hash; another one is a mismatch.
  Duration lease = std::chrono::seconds(30);
  Duration ttl = std::chrono::hours(24);  // How long an outcome is kept after completion.
};

// Proof of one claim: opaque text of printable ASCII. What the store did not give out is fenced.
struct Ticket {
  std::string text;
};

struct Claimed {
  Ticket ticket;
  std::int64_t fence = 0;    // Only rises for a key.
  std::int64_t attempt = 1;  // The number of this try, from 1.
  Time lease_until;
  bool repeated = false;  // An equal request got it before.
};
struct Busy {  // Another holder; come back later.
  std::string owner;
  Time lease_until;
  std::optional<Time> claimed;  // Since when. A server does not tell.
};
struct Done {  // Finished earlier, with this result or final failure.
  Bytes result;
  Time completed;
  bool failed = false;
};
struct Mismatch {};   // The same key with another payload, or another result.
struct Unguarded {};  // The store is down, and the caller chose to act without a claim.
using ClaimOutcome = std::variant<Claimed, Busy, Done, Mismatch, Unguarded>;

// What take() and seen() do if the store is down: the answer is `unavailable`, or stays `unknown`.
enum class IfStoreDown : std::uint8_t { refuse, proceed };

struct Fenced {};  // The ticket's holder no longer has the claim.
struct Renewed {
  Time lease_until;
};
using RenewOutcome = std::variant<Renewed, Fenced>;

struct Settled {
  bool replayed = false;  // It was settled in the same way before.
};
using SettleOutcome = std::variant<Settled, Fenced, Mismatch>;

struct ClaimState {
  // Corrupt: the record is damaged, and nothing else is known of the claim. Forgetting removes it.
  enum class Kind : std::uint8_t { busy, done, failed, corrupt };
  Kind kind = Kind::busy;
  std::string owner;
  std::int64_t fence = 0;
  std::int64_t attempt = 1;
  Time claimed;
  Time lease_until;  // While busy.
  Time completed;    // Once done or failed,
  Time kept_until;   // and how long that is kept.
  Bytes result;      // The result or the failure.
};

// How a failed attempt leaves its key.
enum class Release : std::uint8_t { retryable, final };

// The plans. `key` is claim_key() of a name.
namespace claims {

Key claim_key(std::string_view name_space, std::string_view name);

// Takes `key` if it is free; otherwise answers its state. One store call if the key is new, busy or
// done.
Plan<ClaimOutcome> take(Key key, ClaimRequest request);

// The same, but tries again while the key is busy, until `wait` is over.
Plan<ClaimOutcome> take_within(Key key, ClaimRequest request, Duration wait);

// Holds the claim until `lease` from now.
Plan<RenewOutcome> renew(Key key, Ticket ticket, Duration lease);

// Records the result, for the ttl of the claim. One store call unless the claim was renewed.
// Mismatch: this claim was completed with another result.
Plan<SettleOutcome> complete(Key key, Ticket ticket, Bytes result);

// Frees the key for the next attempt, or records the failure as its outcome.
Plan<SettleOutcome> release(Key key, Ticket ticket, Bytes failure, Release how);

// Forgets the key, in any state, also a damaged one. False if there was no claim.
Plan<bool> forget(Key key);

// `corrupt` if the record is damaged.
Plan<std::optional<ClaimState>> show(Key key);

struct Seen {
  std::vector<bool> first;
  bool repeated = false;  // An equal request marked some of them before.
};

// Marks each key as done without a result, and says which were not marked before. A key that is in
// `keys` twice is first once. A repeat with an equal non-empty `request` gets the same answer.
Plan<Seen> seen(std::vector<Key> keys, Duration ttl, std::string request);

// The answer to take() or seen(). If the store was down and the policy is to proceed: Unguarded,
// and every id is first.
Result<ClaimOutcome> or_proceed(Result<ClaimOutcome> answer, IfStoreDown policy);
Result<Seen> or_proceed(Result<Seen> answer, std::size_t ids, IfStoreDown policy);

// The claims of a namespace, of one kind or of all, in bounded pages: a page may be empty and still
// be followed by another.
struct ListedClaim {
  std::string name;
  ClaimState state;
};
struct ClaimPage {
  std::vector<ListedClaim> claims;
  std::string cursor;  // Empty at the end.
};
Plan<ClaimPage> list(std::string name_space, std::optional<ClaimState::Kind> kind,
                     std::string cursor, std::size_t limit);

}  // namespace claims

// The claims of one namespace. Safe to share between threads. A name is 1 to 512 bytes of UTF-8
// without control characters; anything else is `invalid`.
//
// Every call is bounded by `within`: after that it begins nothing more and ends as `unavailable`,
// or as `unknown` if something that it sent may have happened.
class Claims {
 public:
  Claims() = default;
  virtual ~Claims() = default;
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // From now on take() and seen() do this when the store is down. At first they refuse.
  virtual void set_if_store_down(IfStoreDown policy) = 0;

  // As the plans above. `wait` is in addition to `within`.
  virtual Result<ClaimOutcome> take(std::string_view name, const ClaimRequest& request,
                                    Duration wait = Duration::zero(),
                                    Duration within = kAttemptLife) = 0;
  virtual Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease,
                                     Duration within = kAttemptLife) = 0;
  virtual Result<SettleOutcome> complete(std::string_view name, const Ticket& ticket, Bytes result,
                                         Duration within = kAttemptLife) = 0;
  virtual Result<SettleOutcome> release(std::string_view name, const Ticket& ticket, Bytes failure,
                                        Release how, Duration within = kAttemptLife) = 0;
  virtual Result<bool> forget(std::string_view name, Duration within = kAttemptLife) = 0;
  virtual Result<std::optional<ClaimState>> show(std::string_view name,
                                                 Duration within = kAttemptLife) = 0;
  virtual Result<claims::ClaimPage> list(std::optional<ClaimState::Kind> kind = std::nullopt,
                                         std::string cursor = "", std::size_t limit = 1'000,
                                         Duration within = kAttemptLife) = 0;
  virtual Result<std::vector<bool>> seen(std::span<const std::string> ids, Duration ttl,
                                         std::string request = "",
                                         Duration within = kAttemptLife) = 0;
};

}  // namespace once

// Claims grant each key to one holder at a time and keep the outcome:
//
//   absent -> busy (owner, lease, fence) -> done (result), failed for good, or free again
//
// A busy claim whose lease ended may be taken over. The fence then rises, and every later call with
// the old holder's ticket is refused as fenced. Until then it is abandoned. Time is the store's.
//
// Seen ids are a space of their own: a claim and an id of the same name know nothing of each other.
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

// How long a claim that nobody completed is kept after its lease, unless told otherwise.
inline constexpr Duration kKeepAbandoned = std::chrono::days(7);

struct ClaimRequest {
  std::string owner;                   // A label for people.
  std::string request;                 // An equal one gets the same ticket again while busy.
  std::optional<std::string> payload;  // Remembered as a hash; another one is a mismatch.
  Duration lease = std::chrono::seconds(30);
  Duration ttl = std::chrono::hours(24);  // How long an outcome is kept after completion.
  Duration keep_abandoned = kKeepAbandoned;
};

// Why an attempt before this one failed.
struct EarlierFailure {
  Bytes failure;
  Time failed;
  std::int64_t attempt = 1;

  friend bool operator==(const EarlierFailure&, const EarlierFailure&) = default;
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
  std::optional<EarlierFailure> previous;
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
  // Abandoned: busy, but the lease is over and nobody took over. Free: an attempt failed, and the
  // next may take the key. Corrupt: the record is damaged, and nothing else is known of the claim;
  // forgetting removes it.
  enum class Kind : std::uint8_t { busy, done, failed, corrupt, abandoned, free };
  Kind kind = Kind::busy;
  std::string owner;
  std::int64_t fence = 0;
  std::int64_t attempt = 1;
  Time claimed;
  Time lease_until;  // While busy, or abandoned.
  Time completed;    // Once done, failed or free: when it was completed, or failed,
  Time kept_until;   // and how long that is kept.
  Bytes result;      // The result or the failure.
};

// How a failed attempt leaves its key.
enum class Release : std::uint8_t { retryable, final };

// The plans. `key` is claim_key() of a name, or seen_key() of an id.
namespace claims {

Key claim_key(std::string_view name_space, std::string_view name);
Key seen_key(std::string_view name_space, std::string_view id);

// Takes `key` if it is free; otherwise answers its state. One store call if the key is new, busy or
// done.
Plan<ClaimOutcome> take(Key key, ClaimRequest request);

// The same, but tries again while the key is busy, until `wait` is over, or at once Busy if too
// many wait already.
Plan<ClaimOutcome> take_within(Key key, ClaimRequest request, Duration wait);

// Holds the claim until `lease` from now.
Plan<RenewOutcome> renew(Key key, Ticket ticket, Duration lease,
                         Duration keep_abandoned = kKeepAbandoned);

// Records the result, for the ttl of the claim. One store call unless the claim was renewed.
// Mismatch: this claim was completed with another result.
Plan<SettleOutcome> complete(Key key, Ticket ticket, Bytes result);

// Frees the key for the next attempt, or records the failure as its outcome. Either is kept for the
// ttl of the claim; a key that was freed with an empty failure is as if it was never claimed.
Plan<SettleOutcome> release(Key key, Ticket ticket, Bytes failure, Release how);

// Forgets the key, in any state, also a damaged one. False if there was no claim.
Plan<bool> forget(Key key);

// `corrupt` if the record is damaged.
Plan<std::optional<ClaimState>> show(Key key);

struct Seen {
  std::vector<bool> first;
  bool repeated = false;  // An equal request marked some of them before.
  std::vector<Time> at;   // When each was first seen. Empty if the store was down.
};

// Marks each key, and says which were not marked before. A key that is in `keys` twice is first
// once. A repeat with an equal non-empty `request` gets the same answer.
Plan<Seen> seen(std::vector<Key> keys, Duration ttl, std::string request);

struct SeenMark {
  Time at;
  Time until;
};

// Nothing if the id is not marked.
Plan<std::optional<SeenMark>> show_seen(Key key);

// False if it was not marked.
Plan<bool> forget_seen(Key key);

// The answer to take() or seen(). If the store was down and the policy is to proceed: Unguarded,
// and every id is first.
Result<ClaimOutcome> or_proceed(Result<ClaimOutcome> answer, IfStoreDown policy);
Result<Seen> or_proceed(Result<Seen> answer, std::size_t ids, IfStoreDown policy);

// Which claims are meant; a member that is empty excludes none.
struct ClaimFilter {
  std::string prefix;
  std::optional<ClaimState::Kind> kind;
  std::string owner;

  // At least so long ago its lease ended, it was completed, or it failed.
  std::optional<Duration> older_than;
};

// The claims of a namespace, in bounded pages of `limit` found: a page may be empty and still be
// followed by another.
struct ListedClaim {
  std::string name;
  ClaimState state;
};
struct ClaimPage {
  std::vector<ListedClaim> claims;
  std::string cursor;  // Empty at the end.
};
Plan<ClaimPage> list(std::string name_space, ClaimFilter filter, std::string cursor,
                     std::size_t limit);

// Many claims at once, in bounded steps: until there is no cursor. A claim that changes meanwhile
// is looked at again. `unknown` if a step failed after it had changed some.
struct BulkRequest {
  ClaimFilter filter;
  std::string name;    // Only this claim, if it is not empty.
  std::string cursor;  // Empty, or from the step before.
  std::size_t limit = 1'000;
  bool dry_run = false;  // Only counts.
};
struct BulkOutcome {
  std::size_t count = 0;
  std::string cursor;  // Empty at the end.
};
Plan<BulkOutcome> forget_all(std::string name_space, BulkRequest request);

// Makes failed claims free for another attempt; failure and attempt are kept for their ttl. Others
// are left alone.
Plan<BulkOutcome> retry_all(std::string name_space, BulkRequest request);

// Makes claims that are held, or abandoned, free for another attempt, without their tickets. Their
// holders are fenced, but what they do elsewhere goes on. Others are left alone.
Plan<BulkOutcome> release_all(std::string name_space, BulkRequest request);

// The abandoned claims of all namespaces, in the same pages: for operators.
struct AbandonedClaim {
  std::string name_space;
  std::string name;
  std::string owner;
  Time lease_until;
};
struct AbandonedPage {
  std::vector<AbandonedClaim> claims;
  std::string cursor;
};
Plan<AbandonedPage> list_abandoned(std::string cursor);

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
  virtual Result<claims::ClaimPage> list(const claims::ClaimFilter& filter = {},
                                         std::string cursor = "", std::size_t limit = 1'000,
                                         Duration within = kAttemptLife) = 0;
  virtual Result<claims::BulkOutcome> forget_all(const claims::BulkRequest& request,
                                                 Duration within = kAttemptLife) = 0;
  virtual Result<claims::BulkOutcome> retry_all(const claims::BulkRequest& request,
                                                Duration within = kAttemptLife) = 0;
  virtual Result<claims::BulkOutcome> release_all(const claims::BulkRequest& request,
                                                  Duration within = kAttemptLife) = 0;

  // As the plan seen().
  virtual Result<claims::Seen> mark(std::span<const std::string> ids, Duration ttl,
                                    std::string request = "", Duration within = kAttemptLife) = 0;
  virtual Result<std::optional<claims::SeenMark>> show_seen(std::string_view id,
                                                            Duration within = kAttemptLife) = 0;
  virtual Result<bool> forget_seen(std::string_view id, Duration within = kAttemptLife) = 0;

  // mark(), and of its answer only which ids are first.
  Result<std::vector<bool>> seen(std::span<const std::string> ids, Duration ttl,
                                 std::string request = "", Duration within = kAttemptLife);
};

}  // namespace once

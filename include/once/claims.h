// Claims grant each key to one holder at a time and remember what became of it:
//
//   absent -> busy (owner, lease, fence) -> done (result), failed for good, or free again
//
// A busy claim whose lease ended may be taken over; the fence then rises, and whatever the old
// holder still tries with its ticket is refused as fenced. Time is the store's.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "once/blocking_driver.h"
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

// Proof of one claim. Opaque to those who carry it; text of printable ASCII.
struct Ticket {
  std::string text;
};

struct Claimed {
  Ticket ticket;
  std::int64_t fence = 0;    // Only rises for a key.
  std::int64_t attempt = 1;  // Which try this is, from 1.
  Time lease_until;
  bool repeated = false;  // An equal request got it before.
};
struct Busy {  // Another holder; come back later.
  std::string owner;
  Time lease_until;
  Time claimed;
};
struct Done {  // Finished earlier, with this result or final failure.
  Bytes result;
  Time completed;
  bool failed = false;
};
struct Mismatch {};   // The same key with another payload, or another result.
struct Unguarded {};  // The store is down, and the caller would rather act twice than not at all.
using ClaimOutcome = std::variant<Claimed, Busy, Done, Mismatch, Unguarded>;

// What a caller wants when the store cannot be asked: `unavailable`, or unknown to the end.
enum class IfStoreDown : std::uint8_t { refuse, proceed };

struct Fenced {};  // The ticket's claim is not its holder's any more.
struct Renewed {
  Time lease_until;
};
using RenewOutcome = std::variant<Renewed, Fenced>;

struct Settled {
  bool replayed = false;  // It was settled in just this way before.
};
using SettleOutcome = std::variant<Settled, Fenced, Mismatch>;

struct ClaimState {
  enum class Kind : std::uint8_t { busy, done, failed };
  Kind kind = Kind::busy;
  std::string owner;
  std::int64_t fence = 0;
  std::int64_t attempt = 1;
  Time claimed;
  Time lease_until;  // While busy.
  Time completed;    // Once done or failed,
  Time kept_until;   // and how long that is remembered.
  Bytes result;      // The result or the failure.
};

// How a failed attempt leaves its key.
enum class Release : std::uint8_t { retryable, final };

// The plans. `key` is claim_key() of a name.
namespace claims {

Key claim_key(std::string_view name_space, std::string_view name);

// Takes `key` if nobody holds it; answers what stands there otherwise. One store call when the key
// is new, busy or done.
Plan<ClaimOutcome> take(Key key, ClaimRequest request);

// The same, but while busy it comes back until `wait` is over.
Plan<ClaimOutcome> take_within(Key key, ClaimRequest request, Duration wait);

// Holds the claim until `lease` from now.
Plan<RenewOutcome> renew(Key key, Ticket ticket, Duration lease);

// Records the result, for the ttl of the claim. One store call unless the claim was renewed.
// Mismatch: this claim was completed with another result.
Plan<SettleOutcome> complete(Key key, Ticket ticket, Bytes result);

// Frees the key for the next attempt, or records the failure as its outcome.
Plan<SettleOutcome> release(Key key, Ticket ticket, Bytes failure, Release how);

// Makes the key as good as new, whatever stands there. False when there was nothing.
Plan<bool> forget(Key key);

Plan<std::optional<ClaimState>> show(Key key);

struct Seen {
  std::vector<bool> first;
  bool repeated = false;  // An equal request marked some of them before.
};

// Marks each key as done without a result and tells which were not marked before; a key twice in
// `keys` is first once. With an equal non-empty `request` a repeat gets the same answer.
Plan<Seen> seen(std::vector<Key> keys, Duration ttl, std::string request);

// An answer to take() or seen(), unless the store was down and the caller wants to proceed: then
// Unguarded, and every id is first.
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

// The claims of one namespace, on the caller's thread. Safe to share between threads. `store`,
// `clock` and `entropy` must outlive it. A name is 1 to 512 bytes of UTF-8 without control
// characters; anything else is `invalid`.
class Claims {
 public:
  explicit Claims(Store& store, std::string name_space = "default", Clock& clock = system_clock(),
                  Entropy& entropy = system_entropy());
  virtual ~Claims() = default;
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // From now on take() and seen() do this when the store is down. At first they refuse.
  void set_if_store_down(IfStoreDown policy) { if_store_down_ = policy; }

  // As the plans above. Waiting counts against the call's patience of a minute and `wait`.
  virtual Result<ClaimOutcome> take(std::string_view name, const ClaimRequest& request,
                                    Duration wait = Duration::zero());
  virtual Result<RenewOutcome> renew(std::string_view name, const Ticket& ticket, Duration lease);
  virtual Result<SettleOutcome> complete(std::string_view name, const Ticket& ticket, Bytes result);
  virtual Result<SettleOutcome> release(std::string_view name, const Ticket& ticket, Bytes failure,
                                        Release how);
  virtual Result<bool> forget(std::string_view name);
  virtual Result<std::optional<ClaimState>> show(std::string_view name);
  virtual Result<claims::ClaimPage> list(std::optional<ClaimState::Kind> kind = std::nullopt,
                                         std::string cursor = "", std::size_t limit = 1'000);
  virtual Result<std::vector<bool>> seen(std::span<const std::string> ids, Duration ttl,
                                         std::string request = "");

 protected:
  IfStoreDown if_store_down() const { return if_store_down_; }

 private:
  Result<Key> key_of(std::string_view name) const;

  const std::string name_space_;
  BlockingDriver driver_;
  std::atomic<IfStoreDown> if_store_down_ = IfStoreDown::refuse;
};

}  // namespace once

// The item of a claim, the mark of a seen id, and the ticket that proves one claim.
#pragma once

#include <optional>
#include <string>

#include "once/claims.h"
#include "once/detail/secret_cell.h"

namespace once::claims {

struct ClaimRecord {
  enum class State : std::uint8_t { free = 0, busy = 1, done = 2, failed = 3 };

  State state = State::free;
  std::int64_t fence = 0;
  std::int64_t attempt = 0;
  std::uint64_t nonce = 0;  // Identifies the claim, together with the fence.
  std::string owner;
  std::string request;
  Bytes payload_hash;  // Empty when there was no payload.
  Duration ttl{};
  Time claimed;
  Time lease_until;
  Time completed;
  Time kept_until;  // How long an outcome is kept; after that the key is free.
  Bytes result;     // Or the failure: of a failed claim, or of the attempt that left it free.
  Bytes receipt;    // Of the effects that completed it; empty if there were none.
  std::optional<EarlierFailure> previous;  // While busy.

  friend bool operator==(const ClaimRecord&, const ClaimRecord&) = default;
};

// How long a fence is remembered that somebody may still hold: of a claim that was freed, forgotten
// or abandoned (docs/hazards.md#h13).
inline constexpr Duration kFenceMemory = std::chrono::hours(1);

// How long an outcome or a mark is remembered after its end: longer than its writer may try
// (kAttemptLife), so that a lost reply still finds it.
inline constexpr Duration kReplyMemory = std::chrono::minutes(2);

// The value of a claim's item, and of a mark's.
Value encode(const ClaimRecord& record);
Result<ClaimRecord> decode_claim(const Item& item);

// Whether this is the mark of a seen id that an earlier version put where claims are.
bool is_old_mark(const ClaimRecord& record);

// Marks are records that are done, and were never claimed. The expiry of a mark's item must be
// expiry_of_mark(): most are stored as their ttl alone, and the rest follows from the expiry.
ClaimRecord mark_at(Time now, Duration ttl);
Value encode_mark(const ClaimRecord& record);
Result<ClaimRecord> decode_mark(const Item& item);
Time expiry_of_mark(const ClaimRecord& record);

// The item of mark_at(), without its record; empty if its ttl and expiry do not tell all of it.
struct PlainMark {
  std::int64_t value = 0;
  Time expiry;
};
std::optional<PlainMark> plain_mark(Time now, Duration ttl);

// 16 bytes. Different payloads practically never have equal hashes.
Bytes hash_of(std::string_view payload);

// When the item of a claim with this record expires. Free: after an hour, and not before its
// failure does. Done or failed: shortly after the outcome, for what is claimed later has a higher
// fence simply by its time; where that is not certain, after an hour more.
Time expiry_of(const ClaimRecord& record, Time now);

// The same while it is busy: an hour after it ends as abandoned. ended_at() tells that end from the
// item; those of earlier versions have none.
Time expiry_of_busy(const ClaimRecord& record, Duration keep_abandoned);
Time ended_at(const Item& busy);

bool same_claim(const ClaimRecord& a, const ClaimRecord& b);

// The record with an outcome: done or failed.
ClaimRecord with_outcome(ClaimRecord record, ClaimRecord::State state, Bytes result, Time now);

// A nonce for a claim with this fence. Half of it is `random`, and half a code under the store's
// secret: so the record of the claim tells that the store vouches for the claim's tickets.
std::uint64_t nonce_for(std::uint64_t random, std::int64_t fence, const Key& key,
                        const StoreSecret& secret);

// A ticket carries the record as claimed, and the version under which it was stored: completing the
// claim needs no read. The store vouches for both by a code over them and the claim's key, which
// takes the store's secret to make (docs/hazards.md#h46).
struct OpenTicket {
  ClaimRecord record;
  Version version;
  bool vouched = true;
  bool whole = true;  // The record of the claim has no more than the ticket.
};
Ticket seal(const OpenTicket& ticket, const Key& key, const StoreSecret& secret);

// `invalid` for a text that is no ticket.
Result<OpenTicket> unseal(const Ticket& ticket, const Key& key, const StoreSecret& secret);

// Whether `current`, as stored, is the claim that the ticket is for. A ticket that the store does
// not vouch for proves only that its holder knows fence and nonce. That is enough for a claim that
// was made without the store's secret: by an earlier version of Once, or in the store that it was
// imported from. All else that the ticket says is then taken from `current`.
bool is_ticket_of(const OpenTicket& ticket, const ClaimRecord& current, const Key& key,
                  const StoreSecret& secret);

}  // namespace once::claims

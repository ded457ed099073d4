// What a stored record means at a time: whether there is a claim, and in which state.
#pragma once

#include <limits>

#include "primitives/claim_record.h"

namespace once::claims {

// Done or failed, and that is still kept.
bool has_outcome(const ClaimRecord& record, Time now);

// Free, with a failure that is still kept.
bool has_failure(const ClaimRecord& record, Time now);

// Whether there is a claim: busy and not ended, or with an outcome or a failure that is still kept.
bool is_visible(const ClaimRecord& record, const Item& item, Time now);

// Busy, with a lease that has not ended by any clock.
bool is_held(const ClaimRecord& record, Time now, Duration clock_error);

ClaimState state_of(const ClaimRecord& record, Time now, Duration clock_error);

// What the claim of this item is; nothing if there is none. One that is damaged is corrupt.
Result<std::optional<ClaimState>> state_in(const Item& item, Time now, Duration clock_error);

// A fence at the end of its range is none that a claim was given.
inline constexpr std::int64_t kNoFence = std::numeric_limits<std::int64_t>::max();

// Keeps only what later claims need. The nonce identifies a holder that releases twice.
ClaimRecord free_record(const ClaimRecord& record, std::uint64_t nonce);

// What a forgotten claim leaves. A damaged one tells no fence: then the time is higher than any
// that was given before. One of a newer version of Once is not touched.
Result<ClaimRecord> blank_after(const Result<ClaimRecord>& last, Time now);

}  // namespace once::claims

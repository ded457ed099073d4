// A request for effects, checked and grouped by the keys it will write: each key once, however many
// parts use it (docs/hazards.md#h22); and the receipt that its commit leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "once/effects.h"
#include "once/item.h"
#include "once/log.h"
#include "primitives/claim_record.h"
#include "primitives/log_append.h"
#include "primitives/prepared_merge.h"

namespace once::effects {

// The events of one append, as a part of the batch of its stream.
struct AppendPart {
  std::size_t batch = 0;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

struct DocumentPart {
  Key key;
  documents::Content content;
  std::optional<Version> match;  // Empty: no document may exist. Zero: matches nothing.
  bool any = false;              // Without a condition.
  Effects::Document::Action action = Effects::Document::Action::put;
  documents::Modify modify;  // What a patch does.
};

// The merges into one bucket.
struct BucketPart {
  Key key;
  std::vector<std::size_t> merges;
};

struct PreparedEffects {
  // Whether the commit cannot happen twice.
  bool is_guarded() const { return id_key || ticket; }
  bool only_completes() const { return appends.empty() && documents.empty() && merges.empty(); }

  std::optional<Key> id_key;
  Time id_expires;
  Key claim_key;
  std::optional<claims::OpenTicket> ticket;
  StoreSecret secret;   // That the ticket was opened with.
  bool fenced = false;  // The text given as the ticket is not one.
  Bytes result;
  std::vector<logs::PendingAppend> batches;  // One for each stream.
  bool records_removals = false;             // The last batch says which documents are removed.
  std::vector<AppendPart> appends;
  std::vector<DocumentPart> documents;
  std::vector<tallies::PreparedMerge> merges;
  std::vector<BucketPart> buckets;
  Bytes hash;              // Of the whole request.
  std::uint64_t call = 0;  // Unique to this call.
  Time until;              // Nothing is sent after that.
  Duration clock_error{0};
  bool to_be_sealed = false;  // Not committed here, so no group of a stream writes its batch.
};

inline constexpr Duration kMinIdTtl = 2 * kAttemptLife;  // No attempt outlives its id.

// `invalid` and `unsupported` requests end here.
Result<PreparedEffects> prepared_effects(const Request& request, const Limits& limits, Time now);

// The ticket of the claim that the effects complete, if there is one.
void open_claim(PreparedEffects& prepared, const Request& request, const StoreSecret& secret);

// Proof of a commit of effects, stored with the claim that it completed and under its id.
struct Receipt {
  Bytes hash;              // Of the whole request.
  std::uint64_t call = 0;  // Tells the call that made the commit from a repeat.
  Version version;         // Of the documents that it put.
  std::vector<Appended> appended;
};

Bytes encode(const Receipt& receipt);
Result<Receipt> decode_receipt(const Value& value);

}  // namespace once::effects

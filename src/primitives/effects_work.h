// A request for effects, checked and sorted by the keys it will write: each key once, however many
// parts it serves (H22).
#pragma once

#include <optional>
#include <vector>

#include "once/effects.h"
#include "primitives/claim_record.h"
#include "primitives/log_job.h"
#include "primitives/tally_order.h"

namespace once::effects {

// Where the events of one append stand in the batch that its stream gets.
struct AppendPart {
  std::size_t job = 0;
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

struct DocumentPart {
  Key key;
  documents::Content content;
  std::optional<Version> match;  // Nothing: that there is no document. Zero: what never holds.
};

// The tallies that are merged into one bucket.
struct BucketPart {
  Key key;
  std::vector<std::size_t> orders;
};

struct Work {
  // `invalid` and `unsupported` requests end here.
  static Result<Work> of(const Request& request, const Limits& limits, Time now);

  // Whether the commit itself keeps from happening twice.
  bool guarded() const { return id_key || ticket; }
  bool claims_only() const { return appends.empty() && documents.empty() && orders.empty(); }

  std::optional<Key> id_key;
  Time id_until;
  Key claim_key;
  std::optional<claims::OpenTicket> ticket;
  bool fenced = false;  // By what is no ticket.
  Bytes result;
  std::vector<logs::Job> jobs;  // One for each stream.
  std::vector<AppendPart> appends;
  std::vector<DocumentPart> documents;
  std::vector<tallies::Order> orders;
  std::vector<BucketPart> buckets;
  Bytes hash;              // Of all that is asked for.
  std::uint64_t call = 0;  // This call's own.
  Time until;              // Nothing is sent from then on.
  Duration clock_error{0};
};

}  // namespace once::effects

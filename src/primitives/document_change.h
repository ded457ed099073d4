// One call that changes a document, and how it finds out whether its change was made before.
#pragma once

#include <optional>

#include "once/documents.h"
#include "primitives/document_record.h"

namespace once::documents {

struct ChangeCall {
  Key key;
  Identity identity;
  Bytes hash;     // Of the change that the id names.
  Version stamp;  // Unique to this call.
  bool ids_in_item = false;
  Duration clock_error{};
  bool keeps_end = false;  // An update, which leaves the document's end as it is.

  bool has_id() const { return !identity.id.empty(); }
  bool has_marker() const { return has_id() && !ids_in_item; }
};

// Refuses an invalid identity, and gives the call its stamp.
Plan<ChangeCall> start_call(Key key, Identity identity, Bytes hash);

// Whether a change was made under the call's id.
enum class EarlierChange : std::uint8_t {
  none,
  ours,      // By this call, whose reply was lost.
  replayed,  // By an earlier call with the same body.
  mismatch,  // By an earlier call with a different body.
};

EarlierChange find_in_record(const DocumentRecord& record, const ChangeCall& call, Time now);

// The same, from the id's marker. `none` is final only if the document was read before.
Plan<EarlierChange> find_marker(ChangeCall call);

// The same, from a marker that was met.
Result<EarlierChange> earlier_by(const std::optional<Item>& marker, const ChangeCall& call);

// The same, wherever this store keeps ids. `record` is the document's current one.
Plan<EarlierChange> find_earlier(ChangeCall call, DocumentRecord record);

// The record with which this call replaces `last`. `unavailable` if it would have to remember too
// many ids.
Result<DocumentRecord> record_after(DocumentRecord last, const Modified& wanted,
                                    const ChangeCall& call, Time now);

// The marker that a call with an id writes beside the document.
Write marker_of(const ChangeCall& call, Time now);

// The `unknown` of a call that cannot find out whether it made its change.
std::unexpected<Error> outcome_unknown();

Result<void> check_content(const Content& content);

}  // namespace once::documents

// One call that changes a document, and how it finds out whether its change was made before.
#pragma once

#include <optional>

#include "once/documents.h"
#include "primitives/document_record.h"

namespace once::documents {

struct Call {
  Key key;
  Identity identity;
  Bytes hash;     // Of what the id stands for.
  Version stamp;  // This call's own.
  bool ids_in_item = false;
  Duration clock_error{};

  bool has_id() const { return !identity.id.empty(); }
  bool has_marker() const { return has_id() && !ids_in_item; }
};

// Refuses a bad identity, and gives the call its stamp.
Plan<Call> start_call(Key key, Identity identity, Bytes hash);

// Whether the call's id stands for a change that was made.
enum class Earlier : std::uint8_t {
  no,
  ours,      // By this very call, whose reply was lost.
  replayed,  // By another with the same body.
  mismatch,  // By another with another body.
};

Earlier find_in(const DocumentRecord& record, const Call& call, Time now);

// As find_in, from the marker. `no` is the last word only on a document that was read before.
Plan<Earlier> find_marker(Call call);

// Wherever this store keeps it; `record` is what the document's key held just now.
Plan<Earlier> find_earlier(Call call, DocumentRecord record);

// The record that this call puts in place of `last`. `unavailable` when it would have to remember
// too many ids.
Result<DocumentRecord> record_after(DocumentRecord last, const Modified& wanted, const Call& call,
                                    Time now);

// What a call with an id writes beside the document.
Write marker_of(const Call& call, Time now);

// Waits anything from no time to `bound`.
Plan<std::monostate> pause_within(Duration bound);

// Waits a moment before looking again for what became of a write.
Plan<std::monostate> back_off(int retry);

std::unexpected<Error> doubt();  // The `unknown` of a call that cannot find out.

Result<void> check_content(const Content& content);

}  // namespace once::documents

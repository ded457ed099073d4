// What a document's key holds: the document, or the fact that it was removed, and, on stores that
// take one write a commit, the ids of its recent changes (H19). Elsewhere an id has a marker of its
// own.
//
// A removed document stays as a record without content for an hour at least. So a key that was
// taken is not free again while an attempt lives, and a write under absent() can be sent again
// after an unknown outcome without taking effect twice (H7).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "once/documents.h"

namespace once::documents {

inline constexpr Duration kRemovalMemory = std::chrono::hours(1);

// A change that was made under an id.
struct MadeChange {
  std::string id;
  Bytes hash;     // Of what was changed.
  Version stamp;  // Of the call that made it.
  Time until;     // Remembered until then.

  friend bool operator==(const MadeChange&, const MadeChange&) = default;
};

struct DocumentRecord {
  bool exists = false;
  Version stamp;  // Of the last call that changed it, so that one without an id knows its own.
  Content content;
  std::vector<MadeChange> made;

  friend bool operator==(const DocumentRecord&, const DocumentRecord&) = default;
};

Bytes encode(const DocumentRecord& record);

// A key that holds nothing was never a document, or its removal is forgotten.
Result<DocumentRecord> decode_document(const std::optional<Item>& item);

// A marker, whose version is the stamp and whose expiry the end.
Bytes encode_marker(const Bytes& hash);
Result<Bytes> decode_marker(const Item& item);

// 16 bytes over the parts, whose bounds count.
Bytes hash_of_parts(std::initializer_list<std::string_view> parts);

// An id is not forgotten before every clock says so (H15).
inline bool remembered(const MadeChange& made, Time now, Duration clock_error) {
  return now < later(made.until, clock_error);
}

// The item's expiry: never, or when nothing of a removed document matters any more.
Time expiry_of(const DocumentRecord& record, Time now, Duration clock_error);

std::string etag_of(Version version);
std::optional<Version> version_of(std::string_view etag);

// The document in an item whose record this is, if it exists.
std::optional<Document> document_in(DocumentRecord record, Version version);

}  // namespace once::documents

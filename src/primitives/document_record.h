// The item of a document: its content, or the fact that it was removed. On stores that take one
// write per commit it also holds the ids of recent changes (docs/hazards.md#h19); on other stores
// each id has a marker of its own.
//
// A removed document stays as a record without content for at least an hour. A key in use is
// therefore not freed during an attempt, and a write under absent() can be sent again after an
// unknown outcome without taking effect twice (docs/hazards.md#h7).
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
  Bytes hash;     // Of the change.
  Version stamp;  // Of the call that made it.
  Time until;     // When the id expires.

  friend bool operator==(const MadeChange&, const MadeChange&) = default;
};

struct DocumentRecord {
  bool exists = false;
  Version stamp;  // Of the last call that changed it: how a call without an id finds its change.
  Content content;
  std::vector<MadeChange> made;
  Time until = kNever;  // From then on it does not exist.

  friend bool operator==(const DocumentRecord&, const DocumentRecord&) = default;
};

Bytes encode(const DocumentRecord& record);

// An absent item decodes as a document that does not exist, and so does one that ended before now.
Result<DocumentRecord> decode_document(const std::optional<Item>& item, Time now);

// The marker of an id. Its item's version is the call's stamp, its expiry that of the id.
Bytes encode_marker(const Bytes& hash);
Result<Bytes> decode_marker(const Item& item);

// 16 bytes. Moving a byte from one part to the next changes the hash.
Bytes hash_of_parts(std::initializer_list<std::string_view> parts);

// An id expires only when it has expired by every clock (docs/hazards.md#h15).
inline bool is_remembered(const MadeChange& made, Time now, Duration clock_error) {
  return now < later(made.until, clock_error);
}

// The item's expiry: never, when the document ends, or when a removed document may be forgotten;
// later, while it holds ids.
Time expiry_of(const DocumentRecord& record, Time now, Duration clock_error);

std::string etag_of(Version version);
std::optional<Version> version_of(std::string_view etag);

// The document, if it exists, of an item with this record and version.
std::optional<Document> document_in(DocumentRecord record, Version version);

}  // namespace once::documents

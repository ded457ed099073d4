// Documents: bytes with a content type and an ETag. No write is blind: a put or a removal
// names the document that it replaces, and an update is applied to the current one.
//
// A change may have an id. The commit that makes the change stores the id for its ttl. A repeat
// then changes nothing: the answer is the current document, marked as replayed. The same id with
// another change is a mismatch. On stores that take one write per commit a document keeps at most
// 1,024 ids; more are refused as `unavailable` until the first ones expire.
//
// `unknown` is the answer if a reply was lost and the store cannot show whether the change was
// made. A change with an id is tried again until that is known.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "once/listing.h"
#include "once/plan.h"

namespace once {
namespace documents {

inline constexpr std::size_t kMaxContentType = 256;  // Bytes.
inline constexpr std::size_t kMaxIdsInItem = 1'024;

struct Content {
  Bytes bytes;
  std::string type = "application/octet-stream";

  // Of a change: how long the document is kept from then on, 1 ms to 10 years. Without it a put
  // keeps the document for ever, and an update as long as it was kept before. Not set by a get.
  std::optional<Duration> ttl = std::nullopt;

  friend bool operator==(const Content&, const Content&) = default;
};

struct Document {
  Content content;
  std::string etag;  // 16 hex digits; another one after every change.

  friend bool operator==(const Document&, const Document&) = default;
};

// The condition of a put.
struct IfAbsent {};
struct IfMatch {
  std::string etag;  // An unknown one matches nothing.
};
using Condition = std::variant<IfAbsent, IfMatch>;

// Identifies a change. Without an id a repeat is another change. Through a server a change without
// one gets an id of its own, so that a lost answer is found out; not so a put whose ttl here is 0:
// it leaves nothing in the store but the document, and after a lost answer its condition may fail.
struct Identity {
  std::string id;                         // Up to 512 bytes of UTF-8 without control characters.
  Duration ttl = std::chrono::hours(24);  // 2 minutes to 30 days.
};

// The document after the change and all changes that were combined with it; empty if it was
// removed. For a replay, the current document.
struct Updated {
  std::optional<Document> document;
  bool replayed = false;
  int conflicts = 0;  // How often another writer was faster.
};
struct PreconditionFailed {
  std::optional<std::string> etag;  // Of the current document, if there is one.
};
struct DoesNotApply {  // A patch cannot change what is there, such as a text that is not JSON.
  std::string why;
};
struct NotFound {};  // The change left an absent document absent.
struct Mismatch {};  // The same id with another change.
struct Contended {   // Other writers were always faster. Nothing was changed.
  std::string name;
  std::vector<std::string> etags;  // As this change saw them, oldest first; at most the last 16.
  int attempts = 0;
};
using WriteOutcome = std::variant<Updated, PreconditionFailed, Mismatch>;
using UpdateOutcome = std::variant<Updated, NotFound, Contended, Mismatch>;

// How a document is changed: new content, or as for a Change. Must be pure. An error is the
// caller's answer.
using Modified = std::variant<Content, Keep, Clear>;
using Modify = std::function<Result<Modified>(const std::optional<Content>& current)>;

struct UpdateRequest {
  Modify modify;
  Identity identity;
  Bytes body;  // The change that the id names, such as the text of a patch.

  // Pauses between tries are random, below a bound that doubles from 100 ms. If adaptive, the bound
  // starts higher after recent conflicts on the document, is at most a second, and the update gives
  // up after ten seconds; otherwise after four tries.
  bool adaptive = true;

  // About how many bytes the change goes through besides those of its body and the document.
  std::size_t weight = 0;
};

// About how many bytes an update with such a body goes through: each operation of a patch may shift
// much of the document.
inline std::size_t weight_of_update(std::size_t body_bytes) { return 16 * body_bytes; }

// Recent conflicts by document: a bounded hint, forgotten after ten quiet seconds.
// Shared by all updates of a process; safe to share between threads.
class Contention {
 public:
  Contention();
  ~Contention();

  // The longest pause before the next try, after this many conflicts in a row.
  Duration conflicted(const Key& key, int conflicts, Time now);

  void succeeded(const Key& key, int conflicts);

  // The longest pause that a first conflict would give.
  Duration bound(const Key& key, Time now) const;

 private:
  class Levels;
  std::unique_ptr<Levels> levels_;
};

// The plans.
Key document_key(std::string_view name_space, std::string_view name);

Plan<std::optional<Document>> get(Key key);

// One store call if the store takes two writes per commit, or if the document is new.
Plan<WriteOutcome> put(Key key, Content content, Condition condition, Identity identity);

// Removes the document with this ETag.
Plan<WriteOutcome> remove(Key key, std::string etag, Identity identity);

// As update(), but only of the document with this ETag. Never combined with other updates and never
// applied to a later version (docs/hazards.md#h18).
Plan<WriteOutcome> update_if(Key key, std::string etag, UpdateRequest request);

struct ListedDocument {
  std::string name;
  std::string etag;
  std::size_t bytes = 0;
  std::string content_type;
  bool is_corrupt = false;  // The item is no document: only name and ETag are known.

  friend bool operator==(const ListedDocument&, const ListedDocument&) = default;
};
struct DocumentPage {
  std::vector<ListedDocument> documents;
  std::string cursor;  // Empty at the end.

  friend bool operator==(const DocumentPage&, const DocumentPage&) = default;
};

Plan<DocumentPage> list(std::string name_space, Listing listing);

// Removes the documents of one page, whatever they hold by then. `contention` must outlive the
// plan.
Plan<BulkRemoved> remove_all(std::string name_space, Listing listing, BulkRun run,
                             Contention& contention);

// Changes the current document. A batching driver may combine it with others. `contention` must
// outlive the plan.
Plan<UpdateOutcome> update(Key key, UpdateRequest request, Contention& contention);

}  // namespace documents

// The documents of one namespace. Safe to share between threads. A name is as for claims, and
// `within` bounds a call as there.
class Documents {
 public:
  Documents() = default;
  virtual ~Documents() = default;
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // As the plans above.
  virtual Result<std::optional<documents::Document>> get(std::string_view name,
                                                         Duration within = kAttemptLife) = 0;
  virtual Result<documents::WriteOutcome> put(std::string_view name, documents::Content content,
                                              documents::Condition condition,
                                              documents::Identity identity = {},
                                              Duration within = kAttemptLife) = 0;
  virtual Result<documents::WriteOutcome> remove(std::string_view name, std::string etag,
                                                 documents::Identity identity = {},
                                                 Duration within = kAttemptLife) = 0;
  virtual Result<documents::WriteOutcome> update_if(std::string_view name, std::string etag,
                                                    documents::UpdateRequest request,
                                                    Duration within = kAttemptLife) = 0;
  virtual Result<documents::UpdateOutcome> update(std::string_view name,
                                                  documents::UpdateRequest request,
                                                  Duration within = kAttemptLife) = 0;
  virtual Result<documents::DocumentPage> list(const Listing& listing = {},
                                               Duration within = kAttemptLife) = 0;
  virtual Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run,
                                         Duration within = kAttemptLife) = 0;
};

}  // namespace once

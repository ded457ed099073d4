// Documents: bytes with a content type and an ETag. Nothing overwrites a document unseen: a put or
// a removal names what it replaces, and an update is applied to what stands there.
//
// A change may carry an id. For its ttl the id is remembered by the commit that made the change, so
// that a repeat takes no effect again: it is answered with what stands there now, and as replayed.
// The same id with another change is a mismatch. On stores that take one write a commit a document
// remembers at most 1,024 ids; more are refused as `unavailable` until the first ones expire.
//
// `unknown` is answered where a reply was lost and nothing stored tells what became of the change.
// A change with an id is tried again until it is known.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "once/blocking_driver.h"
#include "once/plan.h"

namespace once {
namespace documents {

inline constexpr std::size_t kMaxContentType = 256;  // Bytes.
inline constexpr std::size_t kMaxIdsInItem = 1'024;

struct Content {
  Bytes bytes;
  std::string type = "application/octet-stream";

  friend bool operator==(const Content&, const Content&) = default;
};

struct Document {
  Content content;
  std::string etag;  // 16 hex digits; another one after every change.

  friend bool operator==(const Document&, const Document&) = default;
};

// What a put insists on.
struct IfAbsent {};
struct IfMatch {
  std::string etag;  // One that was never given out matches nothing.
};
using Condition = std::variant<IfAbsent, IfMatch>;

// Names a change. Without an id nothing is remembered.
struct Identity {
  std::string id;                         // Up to 512 bytes of UTF-8 without control characters.
  Duration ttl = std::chrono::hours(24);  // 2 minutes to 30 days.
};

// What stands there after the change, and after all that was combined with it; nothing if it was
// removed. A replay: what stands there now.
struct Updated {
  std::optional<Document> document;
  bool replayed = false;
  int conflicts = 0;  // How often another was faster.
};
struct PreconditionFailed {
  std::optional<std::string> etag;  // Of what stands there, if anything does.
};
struct NotFound {};  // The change left an absent document absent.
struct Mismatch {};  // The same id with another change.
struct Contended {   // Others were always faster. Nothing was changed.
  std::string name;
  std::vector<std::string> etags;  // As this change saw them, oldest first; at most the last 16.
  int attempts = 0;
};
using WriteOutcome = std::variant<Updated, PreconditionFailed, Mismatch>;
using UpdateOutcome = std::variant<Updated, NotFound, Contended, Mismatch>;

// What becomes of a document: other content, or as for a Change. Pure, as a Change's. An error is
// the caller's answer.
using Modified = std::variant<Content, Keep, Clear>;
using Modify = std::function<Result<Modified>(const std::optional<Content>& standing)>;

struct UpdateRequest {
  Modify modify;
  Identity identity;
  Bytes body;  // What the id stands for, such as the text of a patch.

  // Pauses between tries are evenly spread below a bound that doubles from 100 ms. If adaptive, it
  // starts where recent conflicts on the document suggest, stays below a second, and it takes ten
  // seconds to be contended; if not, four tries.
  bool adaptive = true;
};

// What is known of recent conflicts, by document: a hint, bounded, and forgotten when it is quiet.
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

// One store call if the store takes two writes a commit, or if the document is new.
Plan<WriteOutcome> put(Key key, Content content, Condition condition, Identity identity);

// Removes the document with this ETag.
Plan<WriteOutcome> remove(Key key, std::string etag, Identity identity);

// As update(), of the document with this ETag or not at all. Never combined, never tried on another
// (H18).
Plan<WriteOutcome> update_if(Key key, std::string etag, UpdateRequest request);

// Changes what stands there. Combined with others by a driver that can. `contention` must outlive
// the plan.
Plan<UpdateOutcome> update(Key key, UpdateRequest request, Contention& contention);

}  // namespace documents

// The documents of one namespace, on the caller's thread. Safe to share between threads. `store`,
// `clock` and `entropy` must outlive it. A name is as for claims.
class Documents {
 public:
  explicit Documents(Store& store, std::string name_space = "default",
                     Clock& clock = system_clock(), Entropy& entropy = system_entropy());
  virtual ~Documents() = default;
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // As the plans above, each for at most a minute.
  virtual Result<std::optional<documents::Document>> get(std::string_view name);
  virtual Result<documents::WriteOutcome> put(std::string_view name, documents::Content content,
                                              documents::Condition condition,
                                              documents::Identity identity = {});
  virtual Result<documents::WriteOutcome> remove(std::string_view name, std::string etag,
                                                 documents::Identity identity = {});
  virtual Result<documents::WriteOutcome> update_if(std::string_view name, std::string etag,
                                                    documents::UpdateRequest request);
  virtual Result<documents::UpdateOutcome> update(std::string_view name,
                                                  documents::UpdateRequest request);

  const documents::Contention& contention() const { return contention_; }

 protected:
  documents::Contention& own_contention() { return contention_; }

 private:
  Result<Key> key_of(std::string_view name) const;

  const std::string name_space_;
  BlockingDriver driver_;
  documents::Contention contention_;
};

}  // namespace once

// Effects: completing a claim, appending to logs, changing documents and merging into tallies, all
// in one commit. Either all of it happens or none, even after a crash at any moment.
//
//   Effects().result(receipt).append("ledger", receipt).add("revenue", 1900)
//
// A commit is refused only by a condition of the caller: its ticket, its id, the condition of a
// document, the kind of a tally. Races for a log's end or a tally's bucket are resolved inside. A
// store that takes one write per commit refuses all effects as `unsupported`.
//
// A commit that completes a claim or has an id is recognised for as long as the claim's outcome or
// the id is kept: a repeat does nothing and gets the first answer. One with neither is sent once,
// and after a lost reply the answer is `unknown`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "once/claims.h"
#include "once/documents.h"
#include "once/log.h"
#include "once/tallies.h"

namespace once {

inline constexpr std::size_t kMaxEffects = 1'000;  // Parts of one commit.

// A merge patch (RFC 7396): its text, and what it does to a document that exists. merge_patch() in
// once/merge_patch.h makes one. Effects that go to a server send the text only.
struct MergePatch {
  Bytes text;
  documents::Modify modify;
};

// The parts of a commit. Names are as for claims.
class Effects {
 public:
  struct Append {
    std::string stream;
    std::vector<LogEvent> events;
  };
  struct Document {
    std::string name;
    enum class Action : std::uint8_t { put, patch, remove };

    Action action = Action::put;
    documents::Content content;  // Of a put.
    MergePatch patch;            // Of a patch.
    // Of a put, either or none; a patch or removal may have IfMatch.
    std::optional<documents::Condition> condition;
  };
  struct Tally {
    std::string name;
    TallyRequest request;
  };

  // The result of the completed claim.
  Effects& result(Bytes result);

  // Several appends to one stream are adjacent in it, in this order.
  Effects& append(std::string stream, Bytes event);
  Effects& append(std::string stream, std::vector<LogEvent> events);

  // At most one of these for a document.
  Effects& put(std::string document, documents::Content content, documents::Condition condition);

  // Puts a document whatever it holds, also if it does not exist.
  Effects& overwrite(std::string document, documents::Content content);

  // Patches a document that exists, with this ETag if one is given; its end stays as it is.
  Effects& patch(std::string document, MergePatch patch, std::optional<std::string> etag = {});

  // Removes the document with this ETag; without one, whatever it holds, even if it does not exist.
  Effects& remove(std::string document, std::optional<std::string> etag = {});

  Effects& add(std::string tally, std::int64_t amount);  // To a sum without a window.
  Effects& merge(std::string tally, TallyRequest request);

  const std::optional<Bytes>& result() const { return result_; }
  const std::vector<Append>& appends() const { return appends_; }
  const std::vector<Document>& documents() const { return documents_; }
  const std::vector<Tally>& tallies() const { return tallies_; }

 private:
  std::optional<Bytes> result_;
  std::vector<Append> appends_;
  std::vector<Document> documents_;
  std::vector<Tally> tallies_;
};

namespace effects {

struct ClaimPart {
  std::string name;
  Ticket ticket;
};

struct Request {
  std::string name_space = "default";
  std::string id;                            // As a name, or empty.
  Duration id_ttl = std::chrono::hours(24);  // How long the id is known: 2 minutes to 30 days.
  std::optional<ClaimPart> claim;            // Completed with the effects' result, if any.
  Effects effects;
  std::size_t tally_bytes = tallies::kMaxBytes;  // How large the tallies can be together.
};

// One answer for each part, in its order.
struct Made {
  bool replayed = false;  // By an earlier commit under the same ticket or id.
  std::vector<Appended> appended;
  std::vector<std::string> etags;  // Of the documents; empty for one that was removed.
  std::vector<Tallied> tallied;    // Without a value if the store did not return it.
};

// Nothing happened, because of this part.
struct Refused {
  enum class Part : std::uint8_t { claim, id, document, tally, log };
  Part part = Part::claim;
  std::size_t index = 0;  // Among the documents, tallies or appends.

  // claim: Fenced, or Mismatch if it was completed differently. id: Mismatch, it was used for other
  // effects. document: PreconditionFailed, or DoesNotApply. tally: OtherTally, or TallyMismatch.
  // log: LogClosed.
  std::variant<Fenced, Mismatch, documents::PreconditionFailed, OtherTally, TallyMismatch,
               LogClosed, documents::DoesNotApply>
      why;
};
using Outcome = std::variant<Made, Refused>;

// "docs[2]" is part 2 of the documents.
std::string part_name(Refused::Part part, std::size_t index);

// A get, a scan for each stream and a commit, if there is no race. Gives up after kAttemptLife.
// The message of `invalid` names the part.
Plan<Outcome> commit(Request request);

// A commit as a token, for `select once.apply(token)` in a transaction of the caller's own.
struct Sealed {
  std::string token;
};

// Made: an earlier commit under the same ticket or id, applied or not, so that there is nothing to
// apply.
using PrepareOutcome = std::variant<Sealed, Made, Refused>;

// How long a token can be applied, by the store's time.
inline constexpr Duration kSealedLife = std::chrono::minutes(1);

// All that commit() does but the commit itself. The token fails if by then a condition of the
// caller's no longer holds, or another came in between; then ask for a new one. Without a claim or
// id it gets an id of its own, so that no token is applied twice. `unsupported` where the store has
// no sealer.
Plan<PrepareOutcome> prepare(Request request);

}  // namespace effects

}  // namespace once

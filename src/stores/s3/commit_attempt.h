// One attempt to commit a write to S3.
//
//   put if absent       PUT if none matches; if it is refused, a GET reads the current object, and
//                       one that expired or was erased is replaced if its ETag still matches
//   put, erase if       PUT if the ETag of that version matches, known from a hint or a GET;
//   unchanged           an erase puts a tombstone, because a DELETE may ignore conditions
//   put, erase          PUT, DELETE, unconditionally
//   add, raise          GET, then PUT if its ETag still matches, or if there is still no object
//   check               GET
//
// After a refusal a GET decides by the versions it finds, not by ETags (docs/hazards.md#h24). Our
// version as the current one, or among those before it, is a commit: a gateway sent our PUT again
// after it had lost the reply, and passed on the refusal of the second (docs/hazards.md#h33). A
// conflict (409) wrote nothing, and the same request is sent again after a pause.
//
// After an unknown outcome of a PUT under a condition the same GET mostly tells it: our version is
// there, or another write has replaced the version that ours was to replace, which then never comes
// back (object.h). So a server that answers 500 to the loser of a race (Ceph 16) costs no
// certainty. What stays unknown is left to the caller that can send again (retrying_store.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aws/group.h"
#include "once/entropy.h"
#include "once/write.h"
#include "stores/s3/bucket.h"
#include "stores/s3/hints.h"
#include "stores/s3/plain_object.h"
#include "stores/s3/reply.h"

namespace once::s3 {

class CommitAttempt final : public aws::CommitAttempt {
 public:
  // All must outlive it.
  CommitAttempt(const Bucket& bucket, Hints& hints, Entropy& entropy, const Write& write);

  bool decided() const override { return answer_.has_value(); }
  aws::Request next(Time now) override;
  void take(Result<aws::Response> response) override;
  bool wants_pause() const override { return pause_; }
  Result<CommitOutcome> answer() const override;

 private:
  enum class Step : std::uint8_t { begin, read, write, remove };
  enum class Fate : std::uint8_t { landed, replaced_by_another, open };

  void begin(Time now);
  void take_found(const Result<aws::Response>& response);
  void take_written(const Written& written);
  void weigh(const Found& found);
  void replace(const Hints::Hint& current, std::optional<std::int64_t> number, bool erases);
  void write(Condition condition, std::vector<Version> before, std::optional<std::int64_t> number,
             bool erases);
  bool is_ours(Version version) const;
  Fate fate_by(const Found& found) const;
  void take_fate(const Found& found);
  void decide(Result<CommitOutcome> answer) { answer_.emplace(std::move(answer)); }
  void decide_committed();

  const Bucket& bucket_;
  Hints& hints_;
  Entropy& entropy_;
  const Write& write_;
  const std::string name_;

  Step step_ = Step::begin;
  Condition condition_;                 // Of the next PUT,
  Object object_;                       // which writes this,
  PlainBody plain_;                     // in this form if it is a plain one.
  std::optional<std::int64_t> number_;  // The result of an add or raise.
  Time now_;                            // Decides whether the object found has expired.
  bool pause_ = false;
  bool sent_ = false;  // object_ was.
  int refusals_ = 0;
  std::string refused_etag_;    // If-Match with it was refused.
  std::optional<Error> doubt_;  // The PUT may have taken effect, or still may.
  bool refused_ = false;        // It was refused: only a copy of it can have taken effect.
  std::optional<Result<CommitOutcome>> answer_;
};

}  // namespace once::s3

// One write on its way to S3.
//
//   put if absent       PUT if none matches; where it is refused, a GET tells what stands there,
//   and
//                       what has expired or was erased is put over if its ETag still matches
//   put, erase if       PUT if the ETag of that version matches, known from a hint or a GET;
//   unchanged           an erase puts a tombstone, because a DELETE may ignore conditions
//   put, erase          PUT, DELETE, whatever is there
//   add, raise          GET, then PUT if its ETag still matches, or if there is still none
//   check               GET
//
// A refusal is looked into by a GET, and decided by the version found there, not by ETags (H24). A
// conflict (409) wrote nothing, and the same is sent again after a pause.
//
// After an unknown outcome of a PUT that was to replace a version, a GET mostly tells what became
// of it: its object stands there or is among those before, or another has replaced that version,
// which then never comes back (object.h). So a server that answers 500 to whoever lost a race (Ceph
// 16) costs no certainty. What stays unknown is for whoever can send again
// (retrying_store.h).
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
#include "stores/s3/reply.h"

namespace once::s3 {

class Flight final : public aws::Flight {
 public:
  // All must outlive it.
  Flight(const Bucket& bucket, Hints& hints, Entropy& entropy, const Write& write);

  bool decided() const override { return answer_.has_value(); }
  aws::Request next(Time now) override;
  void take(Result<aws::Response> response) override;
  bool wants_pause() const override { return pause_; }
  Result<CommitOutcome> answer() const override;

 private:
  enum class Step : std::uint8_t { begin, read, write, remove };

  void begin(Time now);
  void take_found(const Result<aws::Response>& response);
  void take_written(const Written& written);
  void weigh(const Found& found);
  void replace(const Hints::Hint& standing, std::optional<std::int64_t> number, bool erases);
  void write(Condition condition, std::vector<Version> before, std::optional<std::int64_t> number,
             bool erases);
  void resolve(const Found& found);
  void decide(Result<CommitOutcome> answer) { answer_.emplace(std::move(answer)); }
  void decide_committed();

  const Bucket& bucket_;
  Hints& hints_;
  Entropy& entropy_;
  const Write& write_;
  const std::string name_;

  Step step_ = Step::begin;
  Condition condition_;                 // Of what is written next,
  Object object_;                       // which is this.
  std::optional<std::int64_t> number_;  // What stands afterwards, of an add or raise.
  Time now_;                            // By which what was found has expired, or not.
  bool pause_ = false;
  int refusals_ = 0;
  std::string refused_etag_;    // If-Match with it was refused.
  std::optional<Error> doubt_;  // What was written may have landed, or may yet.
  std::optional<Result<CommitOutcome>> answer_;
};

}  // namespace once::s3

// One attempt to commit to DynamoDB: the next request, and the effect of its reply. Sends nothing
// itself.
//
// A commit of one write is sent once: after a lost reply, the caller reads back (retrying_store.h).
// A refusal that shows our own version, or an item that replaced it, is a commit
// (docs/hazards.md#h33). An erase leaves no version, so under a guard it is a transaction of its
// own. A transaction carries a token, so the same bytes may be sent again while its outcome is
// unknown (docs/hazards.md#h9).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aws/group.h"
#include "once/entropy.h"
#include "once/write.h"
#include "stores/dynamodb/operation.h"
#include "stores/dynamodb/transport.h"

namespace once::dynamodb {

class CommitAttempt final : public aws::CommitAttempt {
 public:
  // All must outlive it.
  CommitAttempt(const std::string& table, Transaction writes, Entropy& entropy);

  bool decided() const override { return answer_.has_value(); }

  aws::Request next(Time now) override;

  void take(Result<aws::Response> response) override;

  bool wants_pause() const override { return pause_; }

  Result<CommitOutcome> answer() const override;

 private:
  bool is_transaction() const;
  void build(Time now);
  void build_one(Time now);

  void take_done(const Json& body);
  void take_check(const Json& body);
  void take_condition(const Json& body);
  void take_cancelled(const Json& body);
  void take_failure(const Error& error);
  void weigh(std::size_t write, const std::optional<Item>& old);
  void lose(std::size_t write, const std::optional<Item>& old);
  void decide(Result<CommitOutcome> answer);
  Committed committed_as(std::optional<std::int64_t> sum) const;

  const std::string& table_;
  const Transaction writes_;
  Entropy& entropy_;
  std::vector<Form> forms_;

  std::optional<aws::Request> request_;  // To be sent next, unchanged.
  Time now_;                             // The time it was built by.
  bool pause_ = false;
  bool maybe_landed_ = false;  // A transaction was sent, and no reply came.
  std::optional<Error> open_;  // Why it is not decided.
  std::optional<Result<CommitOutcome>> answer_;
};

}  // namespace once::dynamodb

// Retries a group of commits until each is settled. retrying_store.h says what is sent again and
// when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/backoff.h"
#include "once/store.h"

namespace once {

class Attempts {
 public:
  // `answers` has the answer of each transaction to the first sending.
  Attempts(Store& inner, std::span<const Transaction> transactions,
           std::vector<Result<CommitOutcome>> answers);

  // Retries until all are settled or the deadline has come.
  std::vector<Result<CommitOutcome>> settle(Backoff& backoff);

 private:
  enum class State : std::uint8_t {
    to_send,   // Not performed so far, or cleared for sending again.
    in_doubt,  // To be read back.
    settled,
  };
  struct Attempt {
    Transaction writes;
    Result<CommitOutcome> answer;  // Unless a better one comes.
    State state = State::to_send;
    bool maybe_landed = false;   // A sending was `unknown`, and so is `answer`.
    bool final_reading = false;  // Not sent again, whatever the reading says.
  };

  static void take(Attempt& attempt, Result<CommitOutcome> answer);
  static void take_lost(Attempt& attempt, Lost lost);

  void send();
  void read_back();
  static void judge(Attempt& attempt, std::span<const std::optional<Item>> found);
  void drop_overtaken();
  bool all_settled() const;

  Store& inner_;
  std::vector<Attempt> attempts_;
};

}  // namespace once

// A group of commits on its way to a store, each until it is settled. See retrying_store.h for what
// is sent again and when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "once/store.h"
#include "stores/decorators/backoff.h"

namespace once {

// Whether this answer may become another one by trying on.
bool is_open(const Result<CommitOutcome>& answer);

class Attempts {
 public:
  // `answers` are those of the first sending, one for each transaction.
  Attempts(Store& inner, std::span<const Transaction> transactions,
           std::vector<Result<CommitOutcome>> answers);

  // Tries on until all are settled or the deadline has come.
  std::vector<Result<CommitOutcome>> settle(Backoff& backoff);

 private:
  enum class State : std::uint8_t {
    to_send,   // Not performed so far, or cleared for sending again.
    in_doubt,  // To be read back.
    settled,
  };
  struct Attempt {
    Transaction writes;
    Result<CommitOutcome> answer;  // If nothing better comes of it.
    State state = State::to_send;
    bool maybe_landed = false;   // A sending ended as `unknown`; so does `answer`, then.
    bool final_reading = false;  // Not to be sent again, whatever the reading says.
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

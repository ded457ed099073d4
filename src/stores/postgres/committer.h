// Commits, in groups where that goes, and apart where one of them would hold up the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "once/write.h"
#include "stores/postgres/commits.h"
#include "stores/postgres/reader.h"
#include "stores/postgres/slow_keys.h"

namespace once::postgres {

class Committer {
 public:
  // Both must outlive it.
  Committer(const CallContext& context, SlowKeys& slow) : context_(context), slow_(slow) {}

  std::vector<Result<CommitOutcome>> commit_each(std::span<const Transaction> transactions);

 private:
  using Answers = std::vector<Result<CommitOutcome>>;

  // Transactions that go together, by their places in the whole.
  struct Piece {
    std::vector<std::size_t> which;
    std::vector<Transaction> transactions;

    void add(const Piece& other) {
      which.insert(which.end(), other.which.begin(), other.which.end());
      transactions.insert(transactions.end(), other.transactions.begin(), other.transactions.end());
    }
  };
  struct Sent;  // A piece that is under way.

  Piece piece_of(std::span<const std::size_t> which) const;
  // Whether all was answered; if not, what follows may not be sent.
  bool commit_together(const Piece& piece);
  // Transactions that share a key stay together.
  std::vector<Piece> parts_of(const Piece& piece) const;
  // Returns what is locked, or was not tried in time: transactions that share a key together.
  std::vector<Piece> commit_divided(const Piece& piece);
  void commit_one_by_one(const Piece& piece);
  // Several at a time. What is locked stays unanswered, and is returned.
  std::vector<Piece> commit_apart(std::vector<Piece> parts, Duration patience);

  enum class End : std::uint8_t {
    answered,
    raced,   // To be sent again at once.
    apart,   // To be sent again in parts.
    locked,  // The same; one of them met a row that another transaction holds.
  };
  void start(Sent& sent, Duration patience);
  End finish(Sent& sent);
  End take_failure(const Piece& piece, const Failure& failure);
  void answer_all(const Piece& piece, const Error& error);
  void note_slow(const Piece& piece);
  bool is_in_time() const { return std::chrono::steady_clock::now() < context_.deadline; }
  // The server is to give up before we do: what it rolled back is not in doubt.
  Duration whole_patience() const;

  const CallContext context_;
  SlowKeys& slow_;
  std::span<const Transaction> transactions_;
  std::vector<std::optional<Result<CommitOutcome>>> answers_;
};

// Of a key's partition.
std::uint64_t hash_of(const Key& key);

}  // namespace once::postgres

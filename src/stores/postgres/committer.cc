#include "stores/postgres/committer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "stores/postgres/errors.h"
#include "stores/postgres/stored_form.h"

namespace once::postgres {
namespace {

using Answer = Result<CommitOutcome>;

constexpr std::size_t kPieceBytes = 16U << 20;
constexpr std::size_t kMostBytes = 512U << 20;  // PostgreSQL takes less than 1 GiB at once.

// How long a group waits for rows that another transaction holds, and then each of its parts at
// first.
constexpr Duration kGroupPatience{100};
constexpr Duration kPartPatience{20};

std::size_t bytes_of(const Write& write) {
  constexpr std::size_t kAround = 80;
  const Bytes* const bytes = std::get_if<Bytes>(&write.value);
  return kAround + write.key.partition.home.size() + write.key.partition.part.size() +
         (bytes == nullptr ? 0 : bytes->size());
}

std::size_t bytes_of(Transaction transaction) {
  std::size_t sum = 0;
  for (const Write& write : transaction) sum += bytes_of(write);
  return sum;
}

bool is_whole(const Answer& answer) { return answer || answer.error().code != ErrorCode::unknown; }

// Which of many belong together: each has a way to the one that stands for all of them.
class Bands {
 public:
  explicit Bands(std::size_t count) : leader_(count) {
    std::iota(leader_.begin(), leader_.end(), 0);
  }
  std::size_t leader(std::size_t of) {
    while (leader_[of] != of) of = leader_[of] = leader_[leader_[of]];
    return of;
  }
  void join(std::size_t a, std::size_t b) { leader_[leader(b)] = leader(a); }

 private:
  std::vector<std::size_t> leader_;
};

}  // namespace

struct Committer::Sent {
  Piece piece;
  CommitGroup group;
  std::optional<Lease> lease;
  Time at;

  explicit Sent(Piece taken) : piece(std::move(taken)), group(piece.transactions) {}

  // A connection, if one is free.
  bool take_free(const CallContext& context) {
    std::optional<Lease> free = context.pool.lease_if_free(context.deadline);
    if (free) lease.emplace(std::move(*free));
    return lease.has_value();
  }
};

std::uint64_t hash_of(const Key& key) {
  constexpr std::uint64_t kPrime = 1'099'511'628'211U;
  const std::hash<std::string_view> hash;
  return hash(key.partition.home) * kPrime ^ hash(key.partition.part);
}

std::vector<Answer> Committer::commit_each(std::span<const Transaction> transactions) {
  transactions_ = transactions;
  answers_.assign(transactions.size(), std::nullopt);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    if (bytes_of(transactions[i]) <= kMostBytes) {
      all.push_back(i);
    } else {
      answers_[i] = failure(ErrorCode::too_large, "postgres: a commit has up to 512 MiB");
    }
  }
  std::span<const std::size_t> rest = all;
  bool whole = true;
  while (!rest.empty() && whole) {
    const Piece piece = piece_of(rest);
    whole = commit_together(piece);
    rest = rest.subspan(piece.which.size());
  }
  std::vector<Answer> answers;
  answers.reserve(answers_.size());
  for (std::optional<Answer>& answer : answers_) {
    answers.push_back(answer ? std::move(*answer)
                             : Answer(failure(ErrorCode::unavailable,
                                              "postgres: an earlier one is not answered")));
  }
  return answers;
}

// So many that they are not all in memory again.
Committer::Piece Committer::piece_of(std::span<const std::size_t> which) const {
  Piece piece;
  std::size_t bytes = 0;
  for (const std::size_t i : which) {
    bytes += bytes_of(transactions_[i]);
    if (bytes > kPieceBytes && !piece.which.empty()) break;
    piece.which.push_back(i);
    piece.transactions.push_back(transactions_[i]);
  }
  return piece;
}

// A group that meets a row which somebody holds, or that is refused for what one of it does, is
// rolled back as a whole. Its parts are then on their own.
bool Committer::commit_together(const Piece& piece) {
  const bool alone = piece.which.size() == 1;
  End end = End::raced;
  while (end == End::raced) {
    Sent sent(piece);
    start(sent, alone ? whole_patience() : kGroupPatience);
    if (sent.lease) {
      Connection* const connection = &**sent.lease;
      await_answers({&connection, 1}, context_.deadline);
    }
    end = finish(sent);
  }
  if (end != End::answered) {
    std::vector<Piece> locked = alone ? std::vector{piece} : commit_divided(piece);
    for (const Piece& part : locked) note_slow(part);
    if (!alone) locked = commit_apart(std::move(locked), whole_patience());
    for (const Piece& part : locked) commit_one_by_one(part);
  }
  return std::ranges::all_of(piece.which, [&](std::size_t i) { return is_whole(*answers_[i]); });
}

std::vector<Committer::Piece> Committer::parts_of(const Piece& piece) const {
  const auto by_value = [](const Key* a, const Key* b) { return *a < *b; };
  std::map<const Key*, std::size_t, decltype(by_value)> users(by_value);
  Bands bands(piece.which.size());
  for (std::size_t i = 0; i < piece.which.size(); ++i) {
    for (const Write& write : piece.transactions[i]) {
      const auto [at, fresh] = users.try_emplace(&write.key, i);
      if (!fresh) bands.join(at->second, i);
    }
  }
  std::map<std::size_t, Piece> parts;
  for (std::size_t i = 0; i < piece.which.size(); ++i) {
    Piece& part = parts[bands.leader(i)];
    part.which.push_back(piece.which[i]);
    part.transactions.push_back(piece.transactions[i]);
  }
  std::vector<Piece> all;
  for (auto& [leader, part] : parts) all.push_back(std::move(part));
  return all;
}

// What cannot be divided: in its order, as long as there is time.
void Committer::commit_one_by_one(const Piece& piece) {
  if (piece.which.size() == 1 || !is_in_time()) {
    return answer_all(piece,
                      {ErrorCode::unavailable, "postgres: another transaction holds the item"});
  }
  for (std::size_t i = 0; i < piece.which.size(); ++i) {
    commit_together({.which = {piece.which[i]}, .transactions = {piece.transactions[i]}});
  }
}

// In ever smaller pieces, until what is left cannot be divided. So most go together.
std::vector<Committer::Piece> Committer::commit_divided(const Piece& piece) {
  constexpr std::size_t kPieces = 8;
  std::vector<Piece> alone;
  std::vector<Piece> parts = parts_of(piece);
  while (!parts.empty() && is_in_time()) {
    const std::size_t each = (parts.size() + kPieces - 1) / kPieces;
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i % each == 0) pieces.emplace_back();
      pieces.back().add(parts[i]);
    }
    std::vector<Piece> left = commit_apart(std::move(pieces), kPartPatience);
    parts.clear();
    for (const Piece& locked : left) {
      std::vector<Piece> smaller = parts_of(locked);
      std::vector<Piece>& to = smaller.size() == 1 ? alone : parts;
      std::ranges::move(smaller, std::back_inserter(to));
    }
  }
  std::ranges::move(parts, std::back_inserter(alone));
  return alone;
}

std::vector<Committer::Piece> Committer::commit_apart(std::vector<Piece> parts, Duration patience) {
  std::vector<Piece> locked;
  while (!parts.empty()) {
    std::vector<std::unique_ptr<Sent>> flight;
    std::vector<Connection*> connections;
    while (!parts.empty()) {
      auto sent = std::make_unique<Sent>(parts.back());
      if (!flight.empty() && !sent->take_free(context_)) break;
      parts.pop_back();
      start(*sent, patience);
      if (sent->lease) connections.push_back(&**sent->lease);
      flight.push_back(std::move(sent));
    }
    await_answers(connections, context_.deadline);
    for (const std::unique_ptr<Sent>& sent : flight) {
      const End end = finish(*sent);
      if (end == End::raced) parts.push_back(std::move(sent->piece));
      if (end == End::locked || end == End::apart) locked.push_back(std::move(sent->piece));
    }
  }
  return locked;
}

// Answers everything if there is no connection.
void Committer::start(Sent& sent, Duration patience) {
  if (!sent.lease) {
    Result<Lease> lease = context_.pool.lease(context_.deadline);
    if (!lease) return answer_all(sent.piece, lease.error());
    sent.lease.emplace(std::move(*lease));
  }
  context_.pool.count(StoreOperation::commit);
  const Statement statement =
      sent.group.statement(context_.pool.options().schema, context_.time.now(), patience);
  sent.at = context_.time.own();
  (*sent.lease)->start(statement);
}

Committer::End Committer::finish(Sent& sent) {
  if (!sent.lease) return End::answered;
  std::expected<Rows, Failure> rows = (*sent.lease)->finish();
  const Time received = context_.time.own();
  sent.lease.reset();
  if (!rows) return take_failure(sent.piece, rows.error());
  if (const std::optional<Time> server = time_in(*rows, 2)) {
    context_.time.learn(sent.at, received, *server);
  }
  std::vector<Answer> answers = sent.group.answers(*rows);
  const std::size_t written = sent.group.rows_written(answers);
  context_.pool.count_rows(written);
  if (written > 0) context_.pool.note_commit();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers_[sent.piece.which[i]] = std::move(answers[i]);
  }
  return End::answered;
}

Committer::End Committer::take_failure(const Piece& piece, const Failure& failure) {
  if (is_read_only(failure)) context_.pool.retire();
  const Error error = error_of(failure, context_.pool.options().schema);
  if (is_full(failure)) context_.pool.note_full(error);
  if (is_in_time()) {
    if (is_race(failure)) return End::raced;
    if (is_locked(failure)) return End::locked;
    if (error.code == ErrorCode::invalid && piece.which.size() > 1) return End::apart;
  }
  answer_all(piece, error);
  return End::answered;
}

void Committer::answer_all(const Piece& piece, const Error& error) {
  for (const std::size_t i : piece.which) answers_[i] = std::unexpected(error);
}

void Committer::note_slow(const Piece& piece) {
  const auto now = std::chrono::steady_clock::now();
  for (const Transaction& transaction : piece.transactions) {
    for (const Write& write : transaction) slow_.add(hash_of(write.key), now);
  }
}

Duration Committer::whole_patience() const {
  constexpr int kShares = 4;
  const auto left =
      std::chrono::duration_cast<Duration>(context_.deadline - std::chrono::steady_clock::now());
  return std::max(left - left / kShares, Duration(1));  // 0 would be without end.
}

}  // namespace once::postgres

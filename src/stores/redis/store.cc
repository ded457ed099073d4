#include "stores/redis/store.h"

#include <map>
#include <utility>

#include "stores/redis/commits.h"
#include "stores/redis/reader.h"
#include "stores/redis/walk.h"

namespace once::redis {
namespace {

using Answer = Result<CommitOutcome>;

constexpr std::size_t kPieceBytes = 16U << 20;

// A few for each server, of which there are as many places.
constexpr std::size_t kCallsInFlight = 32;

// However it is set when it is opened: a replica that is attached later, or a CONFIG SET, and then
// a failover, lose what was answered. What we remember of it would leave holes.
Limits limits_of(bool is_cluster) {
  return {.writes_per_commit = 10'000,
          .commits_per_group = 10'000,
          .keys_per_get = 10'000,
          .calls_in_flight = kCallsInFlight,
          .value_bytes = 16U << 20,
          .partition_bytes = 4'096,
          .one_home_per_commit = is_cluster,
          .clock_error = std::chrono::seconds(2),
          .may_forget = true};
}

// Of each transaction, whether none of its keys is in another one.
std::vector<bool> stand_alone(std::span<const Transaction> transactions) {
  std::vector<bool> alone(transactions.size(), true);
  if (transactions.size() == 1) return alone;
  const auto by_value = [](const Key* a, const Key* b) { return *a < *b; };
  std::map<const Key*, std::size_t, decltype(by_value)> first_user(by_value);
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    for (const Write& write : transactions[i]) {
      const auto [at, fresh] = first_user.try_emplace(&write.key, i);
      if (!fresh) alone[i] = alone[at->second] = false;
    }
  }
  return alone;
}

}  // namespace

ServerStore::ServerStore(std::unique_ptr<ServerTime> time, std::unique_ptr<Router> router,
                         std::string description, Duration patience)
    : time_(std::move(time)),
      router_(std::move(router)),
      description_(std::move(description)),
      limits_(limits_of(router_->is_cluster())),
      patience_(patience) {}

std::uint64_t ServerStore::place(const Key& key) const {
  return router_->place(slot_of(key.partition.home));
}

Result<std::vector<std::optional<Item>>> ServerStore::do_get(std::span<const Key> keys) {
  return read_items(context(), keys);
}

Result<ScanPage> ServerStore::do_scan(const ScanRequest& request) {
  return read_scan(context(), request);
}

Result<ListPage> ServerStore::do_list(const ListRequest& request) {
  return read_list(context(), request);
}

Result<CommitOutcome> ServerStore::do_commit(Transaction transaction) {
  return std::move(do_commit_each({&transaction, 1}).front());
}

// The server performs what comes by one connection in its order. What a plain SET leaves to the
// script goes once more, which is why it has no key that another transaction has.
std::vector<Answer> ServerStore::do_commit_each(std::span<const Transaction> transactions) {
  const Deadline until = deadline();
  const std::vector<bool> alone = stand_alone(transactions);
  const Time now = time_->now();
  std::vector<Form> forms;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    forms.push_back(alone[i] ? form_of(transactions[i], now) : Form::script);
    all.push_back(i);
  }
  std::vector<std::optional<Answer>> answers(transactions.size());
  send({transactions, forms, answers}, all, until);
  std::vector<std::size_t> undecided;
  for (std::size_t i = 0; i < transactions.size(); ++i) {
    if (answers[i]) continue;
    forms[i] = Form::script;
    undecided.push_back(i);
  }
  if (!undecided.empty()) send({transactions, forms, answers}, undecided, until);
  std::vector<Answer> decided;
  decided.reserve(answers.size());
  for (std::optional<Answer>& answer : answers) decided.push_back(std::move(*answer));
  return decided;
}

// In pieces, so that a large group is not all in memory again. After a piece that is not answered
// whole the rest stays unsent: it might be performed before what is still under way.
void ServerStore::send(const Group& group, std::span<const std::size_t> which, Deadline until) {
  while (!which.empty()) {
    std::vector<Command> commands;
    std::size_t bytes = 0;
    const Time now = time_->now();
    while (commands.size() < which.size() && bytes < kPieceBytes) {
      const std::size_t i = which[commands.size()];
      commands.push_back(command_of(group.transactions[i], group.forms[i], now));
      bytes += commands.back().bytes.size();
    }
    const std::size_t sent = commands.size();
    const bool whole = send_piece(group, which.first(sent), commands, until);
    which = which.subspan(sent);
    if (whole) continue;
    for (const std::size_t i : which) {
      group.answers[i] = failure(ErrorCode::unavailable, "redis: an earlier one is not answered");
    }
    return;
  }
}

bool ServerStore::send_piece(const Group& group, std::span<const std::size_t> which,
                             std::span<const Command> commands, Deadline until) {
  const Time sent = time_->own();
  const std::vector<Result<Reply>> replies = router_->run(commands, until);
  const Time received = time_->own();
  const Time after = time_->now();
  bool whole = true;
  for (std::size_t at = 0; at < which.size(); ++at) {
    const std::size_t i = which[at];
    if (!replies[at]) {
      group.answers[i] = std::unexpected(replies[at].error());
      whole = false;
      continue;
    }
    Verdict verdict = verdict_of(group.transactions[i], group.forms[i], **replies[at], after);
    if (verdict.server) time_->learn(sent, received, *verdict.server);
    group.answers[i] = std::move(verdict.answer);
  }
  return whole;
}

}  // namespace once::redis

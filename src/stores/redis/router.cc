#include "stores/redis/router.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "stores/redis/scripts.h"

namespace once::redis {
namespace {

constexpr int kMostRounds = 5;  // Redirects within one call.

// One server may use this part of a call's time before others are tried.
constexpr int kShares = 2;

std::uint64_t hash_of(const Endpoint& endpoint) {
  const std::string text = to_text(endpoint);
  return XXH3_64bits(text.data(), text.size());
}

const std::string& time_command() {
  static const std::string text = text_of({"TIME"});
  return text;
}

const std::string& asking_command() {
  static const std::string text = text_of({"ASKING"});
  return text;
}

const std::vector<std::string>& load_commands() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> loads;
    for (const Script* const script : all_scripts()) {
      loads.push_back(text_of({"SCRIPT", "LOAD", script->text}));
    }
    return loads;
  }();
  return texts;
}

}  // namespace

struct Router::PendingCommand {
  const Command* command = nullptr;
  Result<Reply> reply = failure(ErrorCode::unavailable, "redis: not sent");
  Redirect redirect;  // What the last reply said; where it goes next.
  bool to_send = true;
};

struct Router::ServerBatch {
  Node* node = nullptr;
  std::optional<Lease> lease;
  std::vector<PendingCommand*> pending_commands;
  std::vector<PendingCommand*> awaited;  // By reply; null for the router's own commands.
  bool asks_time = false;                // With the first command.
  Time sent;
};

Router::Router(RedisOptions options, std::unique_ptr<Dialler> dialler, ServerTime& time)
    : options_(std::move(options)),
      dialler_(std::move(dialler)),
      time_(time),
      first_{options_.host, options_.port} {}

Result<void> Router::open(Deadline deadline) {
  Result<Reply> info = run_at(first_, text_of({"INFO", "cluster"}), deadline);
  if (!info) return std::unexpected(std::move(info.error()));
  if ((**info).is_error()) return std::unexpected(reading_error_of(**info));
  is_cluster_ = (**info).text().find("cluster_enabled:1") != std::string_view::npos;
  if (!is_cluster_) return {};
  if (options_.database != 0) {
    return failure(ErrorCode::invalid, "redis: a cluster has no database but 0");
  }
  return learn_slots_from(first_, deadline);
}

std::uint64_t Router::place(std::uint16_t slot) const {
  if (!is_cluster_) return 0;
  const Lock lock(mutex_);
  return std::bit_cast<std::uintptr_t>(slots_[slot]);
}

Result<Reply> Router::run(const Command& command, Deadline deadline) {
  return std::move(run({&command, 1}, deadline).front());
}

std::vector<Result<Reply>> Router::run(std::span<const Command> commands, Deadline deadline) {
  std::vector<PendingCommand> pending_commands(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) pending_commands[i].command = &commands[i];
  // Not by the call that noticed: it may have no time left.
  if (suspect_ && suspect_.exchange(false) && !learn_slots(net::share_of(deadline, kShares)))
    suspect_ = true;
  for (int round = 0; round < kMostRounds; ++round) {
    send_round(pending_commands, deadline);
    if (!redirect(pending_commands, deadline)) break;
  }
  std::vector<Result<Reply>> replies;
  replies.reserve(pending_commands.size());
  for (PendingCommand& pending : pending_commands) replies.push_back(std::move(pending.reply));
  return replies;
}

Result<Reply> Router::run_at(const Endpoint& endpoint, std::string_view command, Deadline deadline,
                             StoreOperation operation) {
  Node& node = node_at(endpoint);
  Result<Lease> lease = node.lease(deadline);
  if (!lease) return std::unexpected(std::move(lease.error()));
  units_.add(operation, 0);
  ++round_trips_;
  Result<Reply> reply = std::move((*lease)->exchange({&command, 1}, deadline).front());
  node.note(reply.has_value());
  return reply;
}

RedisCounts Router::counts() const {
  return {static_cast<std::uint64_t>(units_.sum(0)), round_trips_};
}

Router::Map Router::map() {
  const Lock lock(mutex_);
  if (!is_cluster_) return {.servers = {first_}};
  std::set<Endpoint> servers;
  Map map;
  const Node* before = nullptr;
  std::uint64_t hash = 0;
  for (const Node* const node : slots_) {
    constexpr std::uint64_t kPrime = 1'099'511'628'211U;
    if (node != nullptr && node != before) {
      servers.insert(node->endpoint());
      hash = hash_of(node->endpoint());
    }
    before = node;
    map.state = (map.state ^ (node == nullptr ? 0 : hash)) * kPrime;
  }
  map.servers.assign(servers.begin(), servers.end());
  return map;
}

Result<Router::Map> Router::learn_map(Deadline deadline) {
  if (is_cluster_) {
    if (Result<void> learnt = learn_slots(deadline); !learnt) {
      return std::unexpected(std::move(learnt.error()));
    }
  }
  return map();
}

Node& Router::node(const Endpoint& endpoint) {
  std::unique_ptr<Node>& node = nodes_[endpoint];
  if (!node) node = std::make_unique<Node>(endpoint, options_, *dialler_, time_);
  return *node;
}

Node& Router::node_at(const Endpoint& endpoint) {
  const Lock lock(mutex_);
  return node(endpoint);
}

Node& Router::node_for(const PendingCommand& pending) {
  const Lock lock(mutex_);
  if (pending.redirect.kind == Redirect::Kind::ask) {
    return node({pending.redirect.host, pending.redirect.port});
  }
  if (!is_cluster_ || slots_[pending.command->slot] == nullptr) return node(first_);
  return *slots_[pending.command->slot];
}

// Connections are taken in the order of the servers, so that two calls never wait for each other;
// and all of them before anything is sent, so that what is sent has the time that is left.
void Router::send_round(std::vector<PendingCommand>& pending_commands, Deadline deadline) {
  std::map<Endpoint, ServerBatch> batches;
  for (PendingCommand& pending : pending_commands) {
    if (!pending.to_send) continue;
    Node& node = node_for(pending);
    ServerBatch& batch = batches[node.endpoint()];
    batch.node = &node;
    batch.pending_commands.push_back(&pending);
  }
  for (auto& [endpoint, batch] : batches) {
    take_lease(batch, batches.size() == 1 ? deadline : net::share_of(deadline, kShares));
  }
  bool asks_time = time_.is_old();
  std::vector<Connection*> connections;
  for (auto& [endpoint, batch] : batches) {
    if (!batch.lease) continue;
    batch.asks_time = std::exchange(asks_time, false);
    send(batch);
    connections.push_back(&**batch.lease);
  }
  await_replies(connections, deadline);
  for (auto& [endpoint, batch] : batches) {
    if (batch.lease) take_replies(batch);
  }
}

void Router::take_lease(ServerBatch& batch, Deadline deadline) {
  Result<Lease> lease = batch.node->lease(deadline);
  if (lease) {
    batch.lease.emplace(std::move(*lease));
    return;
  }
  for (PendingCommand* const pending : batch.pending_commands) {
    pending->to_send = false;
    pending->redirect = {};
    pending->reply = std::unexpected(lease.error());
  }
}

void Router::send(ServerBatch& batch) {
  std::vector<std::string_view> texts;
  const auto say = [&](std::string_view text, PendingCommand* pending) {
    texts.push_back(text);
    batch.awaited.push_back(pending);
  };
  if (batch.asks_time) say(time_command(), nullptr);
  const auto wants_scripts = [](const PendingCommand* pending) {
    return pending->redirect.kind == Redirect::Kind::load_scripts;
  };
  if (std::ranges::any_of(batch.pending_commands, wants_scripts)) {
    for (const std::string& load : load_commands()) say(load, nullptr);
  }
  for (PendingCommand* const pending : batch.pending_commands) {
    if (pending->redirect.kind == Redirect::Kind::ask) say(asking_command(), nullptr);
    say(pending->command->bytes, pending);
  }
  batch.sent = time_.own();
  for (const PendingCommand* const pending : batch.awaited) {
    units_.add(pending != nullptr ? pending->command->operation : StoreOperation::other, 0);
  }
  ++round_trips_;
  (*batch.lease)->start(texts);
}

void Router::take_replies(ServerBatch& batch) {
  std::vector<Result<Reply>> replies = (*batch.lease)->finish();
  batch.node->note(replies.back().has_value());
  if (batch.asks_time && replies.front()) {
    if (const auto server = time_in(**replies.front())) {
      time_.learn(batch.sent, time_.own(), *server);
    }
  }
  for (std::size_t i = 0; i < replies.size(); ++i) {
    PendingCommand* const pending = batch.awaited[i];
    if (pending == nullptr) continue;
    pending->to_send = false;
    // It became a replica: new connections to the address may reach the new master.
    if (replies[i] && is_replicas(**replies[i])) batch.node->retire();
    pending->redirect = replies[i] ? redirect_of(**replies[i]) : Redirect{};
    if (pending->redirect.host.empty()) pending->redirect.host = batch.node->endpoint().host;
    pending->reply = std::move(replies[i]);
  }
  batch.lease.reset();
}

// Marks commands that were redirected to be sent again, unless a later command of the same slot was
// performed meanwhile: then the caller decides. False if there is nothing to send.
bool Router::redirect(std::vector<PendingCommand>& pending_commands, Deadline deadline) {
  std::set<std::uint16_t> passed;
  bool any = false;
  bool moved = false;
  bool lost = false;
  for (std::size_t i = pending_commands.size(); i-- > 0;) {
    PendingCommand& pending = pending_commands[i];
    const bool wanted = pending.redirect.kind != Redirect::Kind::none;
    const bool overtaken = !pending.command->reads && passed.contains(pending.command->slot);
    moved |= pending.redirect.kind == Redirect::Kind::moved;
    lost |= is_cluster_ && !pending.reply;
    pending.to_send = wanted && !overtaken;
    any |= pending.to_send;
    const bool never_performed =
        !pending.reply && pending.reply.error().code == ErrorCode::unavailable;
    if (!wanted && !never_performed && !pending.command->reads)
      passed.insert(pending.command->slot);
  }
  // A server that does not answer loses its slots soon: the next call learns who has them.
  if (lost) suspect_ = true;
  if (!moved) return any;
  if (!is_cluster_) return false;
  if (!learn_slots(net::share_of(deadline, kShares))) suspect_ = true;
  follow_moved(pending_commands);
  return any;
}

// The server that had the slot says where it went; others may not know yet.
void Router::follow_moved(const std::vector<PendingCommand>& pending_commands) {
  const Lock lock(mutex_);
  for (const PendingCommand& pending : pending_commands) {
    if (pending.redirect.kind != Redirect::Kind::moved) continue;
    slots_[pending.command->slot] = &node({pending.redirect.host, pending.redirect.port});
  }
}

// Servers that did not answer last time come last.
std::vector<Endpoint> Router::whom_to_ask() {
  std::vector<Endpoint> servers = map().servers;
  if (std::ranges::find(servers, first_) == servers.end()) servers.push_back(first_);
  std::vector<Endpoint> silent;
  std::erase_if(servers, [&](const Endpoint& server) {
    if (node_at(server).answers()) return false;
    silent.push_back(server);
    return true;
  });
  servers.insert(servers.end(), silent.begin(), silent.end());
  return servers;
}

Result<void> Router::learn_slots(Deadline deadline) {
  Result<void> learnt = failure(ErrorCode::unavailable, "redis: no server of the cluster answers");
  const std::vector<Endpoint> servers = whom_to_ask();
  for (std::size_t i = 0; i < servers.size() && !learnt; ++i) {
    const bool last = i + 1 == servers.size();
    learnt = learn_slots_from(servers[i], last ? deadline : net::share_of(deadline, kShares));
  }
  return learnt;
}

Result<void> Router::learn_slots_from(const Endpoint& endpoint, Deadline deadline) {
  Result<Reply> reply = run_at(endpoint, text_of({"CLUSTER", "SLOTS"}), deadline);
  if (!reply) return failure(ErrorCode::unavailable, reply.error().message);
  if (!(**reply).is_list()) return std::unexpected(reading_error_of(**reply));
  if ((**reply).size() == 0) {
    return failure(ErrorCode::unavailable, "redis: this server knows of no slots");
  }
  take_slots(**reply, endpoint);
  return {};
}

// [[first, last, [host, port, ...], ...], ...]
void Router::take_slots(ReplyView reply, const Endpoint& told_by) {
  const Lock lock(mutex_);
  slots_.assign(kSlots, nullptr);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const ReplyView range = reply[i];
    if (range.size() < 3 || range[2].size() < 2) continue;
    const std::int64_t first = range[0].integer().value_or(0);
    const std::int64_t last = range[1].integer().value_or(-1);
    const std::int64_t port = range[2][1].integer().value_or(0);
    std::string host(range[2][0].text());
    if (host.empty() || host == "?") host = told_by.host;
    Node& owner = node({std::move(host), static_cast<std::uint16_t>(port)});
    for (std::int64_t slot = std::max<std::int64_t>(first, 0);
         slot <= std::min<std::int64_t>(last, kSlots - 1); ++slot) {
      slots_[static_cast<std::size_t>(slot)] = &owner;
    }
  }
}

}  // namespace once::redis

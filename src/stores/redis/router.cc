#include "stores/redis/router.h"

#include <algorithm>
#include <set>
#include <utility>

#include "stores/redis/scripts.h"

namespace once::redis {
namespace {

constexpr int kMostRounds = 5;  // Of being sent elsewhere, within one call.

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

struct Router::Errand {
  const Command* command = nullptr;
  Result<Reply> reply = failure(ErrorCode::unavailable, "redis: not sent");
  Redirect redirect;  // What the last reply said; where it goes next.
  bool to_send = true;
};

struct Router::Trip {
  Node* node = nullptr;
  std::optional<Lease> lease;
  std::vector<Errand*> errands;
  std::vector<Errand*> awaited;  // By reply; null for what is ours.
  bool asks_time = false;        // With the first command.
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

Result<Reply> Router::run(const Command& command, Deadline deadline) {
  return std::move(run({&command, 1}, deadline).front());
}

std::vector<Result<Reply>> Router::run(std::span<const Command> commands, Deadline deadline) {
  std::vector<Errand> errands(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) errands[i].command = &commands[i];
  for (int round = 0; round < kMostRounds; ++round) {
    travel(errands, deadline);
    if (!redirect(errands, deadline)) break;
  }
  std::vector<Result<Reply>> replies;
  replies.reserve(errands.size());
  for (Errand& errand : errands) replies.push_back(std::move(errand.reply));
  return replies;
}

Result<Reply> Router::run_at(const Endpoint& endpoint, std::string_view command,
                             Deadline deadline) {
  Result<Lease> lease = node_at(endpoint).lease(deadline);
  if (!lease) return std::unexpected(std::move(lease.error()));
  ++requests_;
  ++round_trips_;
  return std::move((*lease)->exchange({&command, 1}, deadline).front());
}

Router::Map Router::map() {
  const Lock lock(mutex_);
  if (!is_cluster_) return {.servers = {first_}};
  std::set<Endpoint> servers;
  Map map;
  for (const Node* const node : slots_) {
    constexpr std::uint64_t kPrime = 1'099'511'628'211U;
    if (node != nullptr) servers.insert(node->endpoint());
    map.state = (map.state ^ (node == nullptr ? 0 : node->endpoint().port)) * kPrime;
  }
  map.servers.assign(servers.begin(), servers.end());
  return map;
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

Node& Router::node_for(const Errand& errand) {
  const Lock lock(mutex_);
  if (errand.redirect.kind == Redirect::Kind::ask) {
    return node({errand.redirect.host, errand.redirect.port});
  }
  if (!is_cluster_ || slots_[errand.command->slot] == nullptr) return node(first_);
  return *slots_[errand.command->slot];
}

// Connections are taken in the order of the servers, so that two calls never wait for each other.
void Router::travel(std::vector<Errand>& errands, Deadline deadline) {
  std::map<Endpoint, Trip> trips;
  for (Errand& errand : errands) {
    if (!errand.to_send) continue;
    Node& node = node_for(errand);
    Trip& trip = trips[node.endpoint()];
    trip.node = &node;
    trip.errands.push_back(&errand);
  }
  bool asks_time = time_.is_old();
  for (auto& [endpoint, trip] : trips) {
    trip.asks_time = std::exchange(asks_time, false);
    Result<Lease> lease = trip.node->lease(deadline);
    if (lease) {
      trip.lease.emplace(std::move(*lease));
      send(trip);
      continue;
    }
    for (Errand* const errand : trip.errands) {
      errand->to_send = false;
      errand->redirect = {};
      errand->reply = std::unexpected(lease.error());
    }
  }
  for (auto& [endpoint, trip] : trips) {
    if (trip.lease) take_replies(trip, deadline);
  }
}

void Router::send(Trip& trip) {
  std::vector<std::string_view> texts;
  const auto say = [&](std::string_view text, Errand* errand) {
    texts.push_back(text);
    trip.awaited.push_back(errand);
  };
  if (trip.asks_time) say(time_command(), nullptr);
  const auto wants_scripts = [](const Errand* errand) {
    return errand->redirect.kind == Redirect::Kind::load_scripts;
  };
  if (std::ranges::any_of(trip.errands, wants_scripts)) {
    for (const std::string& load : load_commands()) say(load, nullptr);
  }
  for (Errand* const errand : trip.errands) {
    if (errand->redirect.kind == Redirect::Kind::ask) say(asking_command(), nullptr);
    say(errand->command->bytes, errand);
  }
  trip.sent = time_.own();
  requests_ += texts.size();
  ++round_trips_;
  (*trip.lease)->start(texts);
}

void Router::take_replies(Trip& trip, Deadline deadline) {
  std::vector<Result<Reply>> replies = (*trip.lease)->finish(deadline);
  if (trip.asks_time && replies.front()) {
    if (const auto server = time_in(**replies.front())) {
      time_.learn(trip.sent, time_.own(), *server);
    }
  }
  for (std::size_t i = 0; i < replies.size(); ++i) {
    Errand* const errand = trip.awaited[i];
    if (errand == nullptr) continue;
    errand->to_send = false;
    // A master no more: the address may lead to another one by now.
    if (replies[i] && is_replicas(**replies[i])) (*trip.lease)->abandon();
    errand->redirect = replies[i] ? redirect_of(**replies[i]) : Redirect{};
    if (errand->redirect.kind == Redirect::Kind::ask && errand->redirect.host.empty()) {
      errand->redirect.host = trip.node->endpoint().host;
    }
    errand->reply = std::move(replies[i]);
  }
  trip.lease.reset();
}

// What was refused and goes elsewhere now, unless something later in its slot was performed
// meanwhile: then the caller decides. False if there is nothing.
bool Router::redirect(std::vector<Errand>& errands, Deadline deadline) {
  std::set<std::uint16_t> passed;
  bool any = false;
  bool moved = false;
  bool lost = false;
  for (std::size_t i = errands.size(); i-- > 0;) {
    Errand& errand = errands[i];
    const bool wanted = errand.redirect.kind != Redirect::Kind::none;
    const bool overtaken = !errand.command->reads && passed.contains(errand.command->slot);
    moved |= errand.redirect.kind == Redirect::Kind::moved;
    lost |= is_cluster_ && !errand.reply;
    errand.to_send = wanted && !overtaken;
    any |= errand.to_send;
    const bool never_performed =
        !errand.reply && errand.reply.error().code == ErrorCode::unavailable;
    if (!wanted && !never_performed && !errand.command->reads) passed.insert(errand.command->slot);
  }
  // A server that is gone has no slots for long; the next call is to know who has them.
  if ((moved || lost) && !learn_slots(deadline) && moved) return false;
  return any;
}

Result<void> Router::learn_slots(Deadline deadline) {
  Result<void> learnt = failure(ErrorCode::unavailable, "redis: no server of the cluster answers");
  for (const Endpoint& endpoint : map().servers) {
    learnt = learn_slots_from(endpoint, deadline);
    if (learnt) return learnt;
  }
  return learn_slots_from(first_, deadline);
}

Result<void> Router::learn_slots_from(const Endpoint& endpoint, Deadline deadline) {
  Result<Reply> reply = run_at(endpoint, text_of({"CLUSTER", "SLOTS"}), deadline);
  if (!reply) return failure(ErrorCode::unavailable, reply.error().message);
  if (!(**reply).is_list()) return std::unexpected(reading_error_of(**reply));
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

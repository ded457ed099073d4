// Brings each command to the server that has its slot: the only one there is, or one of a cluster.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kernel/unit_counter.h"
#include "once/redis_store.h"
#include "stores/redis/node.h"
#include "stores/redis/protocol.h"

namespace once::redis {

// Safe to share between threads.
class Router {
 public:
  // `time` must outlive it.
  Router(RedisOptions options, std::unique_ptr<Dialler> dialler, ServerTime& time);

  // Finds out what is there. Before anything else.
  Result<void> open(Deadline deadline);

  bool is_cluster() const { return is_cluster_; }

  // A number of the server that has the slot.
  std::uint64_t place(std::uint16_t slot) const ONCE_EXCLUDES(mutex_);

  // One reply for each command. Of those in one slot the later is performed after the earlier, or
  // the earlier not at all (`unavailable`); `reads` are exempt from that. What is answered as an
  // error of the server comes as a reply.
  std::vector<Result<Reply>> run(std::span<const Command> commands, Deadline deadline);
  Result<Reply> run(const Command& command, Deadline deadline);

  // The servers that have slots, in a fixed order, and a number that changes with what they have.
  struct Map {
    std::vector<Endpoint> servers;
    std::uint64_t state = 0;
  };
  Map map();
  // The same, asked from one of them now.
  Result<Map> learn_map(Deadline deadline);

  // At one server, whatever its slots.
  Result<Reply> run_at(const Endpoint& endpoint, std::string_view command, Deadline deadline,
                       StoreOperation operation = StoreOperation::other);

  RedisCounts counts() const;
  StoreUnits units() const { return units_.rows(); }

 private:
  static constexpr std::size_t kSlots = 16'384;

  struct PendingCommand;  // A command, its reply and where it goes next.
  struct ServerBatch;     // Commands sent to one server together.

  Node& node(const Endpoint& endpoint) ONCE_REQUIRES(mutex_);
  Node& node_at(const Endpoint& endpoint) ONCE_EXCLUDES(mutex_);
  Node& node_for(const PendingCommand& pending) ONCE_EXCLUDES(mutex_);
  void send_round(std::vector<PendingCommand>& pending_commands, Deadline deadline);
  void take_lease(ServerBatch& batch, Deadline deadline);
  void send(ServerBatch& batch);
  void take_replies(ServerBatch& batch);
  bool redirect(std::vector<PendingCommand>& pending_commands, Deadline deadline);
  void follow_moved(const std::vector<PendingCommand>& pending_commands) ONCE_EXCLUDES(mutex_);
  std::vector<Endpoint> whom_to_ask() ONCE_EXCLUDES(mutex_);
  Result<void> learn_slots(Deadline deadline);
  Result<void> learn_slots_from(const Endpoint& endpoint, Deadline deadline);
  void take_slots(ReplyView reply, const Endpoint& told_by) ONCE_EXCLUDES(mutex_);

  const RedisOptions options_;
  const std::unique_ptr<Dialler> dialler_;
  ServerTime& time_;
  const Endpoint first_;
  bool is_cluster_ = false;  // Constant after open().

  std::atomic<bool> suspect_ = false;  // A server did not answer: slots may have moved.
  UnitCounter units_{"request"};
  std::atomic<std::uint64_t> round_trips_ = 0;

  mutable Mutex mutex_;
  // Never removed from, so that nodes stay where they are.
  std::map<Endpoint, std::unique_ptr<Node>> nodes_ ONCE_GUARDED_BY(mutex_);
  std::vector<Node*> slots_ ONCE_GUARDED_BY(mutex_);  // Of a cluster: by slot; null: not served.
};

}  // namespace once::redis

#include "stores/redis/sweeper.h"

#include <algorithm>
#include <utility>

#include "stores/redis/scripts.h"
#include "stores/redis/stored_form.h"
#include "stores/redis/walk.h"

namespace once::redis {
namespace {

constexpr int kBatchesPerSweep = 20;
constexpr std::size_t kMembersAtOnce = 1'000;
constexpr std::size_t kBytesAtOnce = 4U << 20;  // Of one script, which keeps the server to itself.

}  // namespace

Result<Swept> Sweeper::sweep(const ReadContext& context, std::size_t limit) {
  const Lock lock(mutex_);
  Swept swept;
  int batches = 0;
  // What was done is told even if there is no time for all of it.
  const Deadline enough = net::share_of(context.deadline, 2);
  while (swept.examined < limit && std::chrono::steady_clock::now() < enough) {
    if (!sets_.empty()) {
      const std::size_t some = std::min(limit - swept.examined, kMembersAtOnce);
      if (Result<void> done = sweep_set(context, some, swept); !done) {
        // The next sweep continues with other keys: this one may fail again.
        sets_.pop_back();
        after_.clear();
        return std::unexpected(std::move(done.error()));
      }
      continue;
    }
    if (std::exchange(at_end_, false)) {
      swept.finished = true;
      break;
    }
    if (batches++ == kBatchesPerSweep) break;
    if (Result<void> fetched = fetch(context); !fetched) {
      return std::unexpected(std::move(fetched.error()));
    }
  }
  return swept;
}

Result<void> Sweeper::fetch(const ReadContext& context) {
  const std::vector<Endpoint> servers = context.router.map().servers;
  if (server_ < servers.size()) {
    Result<Batch> batch =
        scan_server(context, servers[server_], scan_, pattern_of(""), "zset", kMembersAtOnce);
    if (!batch) return std::unexpected(std::move(batch.error()));
    sets_ = std::move(batch->names);
    scan_ = batch->next;
    if (scan_ != 0) return {};
    ++server_;
  }
  if (server_ < servers.size()) return {};
  server_ = 0;
  at_end_ = true;
  return {};
}

Result<void> Sweeper::sweep_set(const ReadContext& context, std::size_t limit, Swept& swept) {
  const std::string name = sets_.back();
  const std::optional<Name> parsed = parse_name(name);
  if (!parsed) {
    sets_.pop_back();
    return {};
  }
  const std::string now = std::to_string(context.time.now().time_since_epoch().count());
  const Command command{.bytes = text_of({"EVALSHA", sweep_script().digest, "1", name, now, after_,
                                          std::to_string(limit), std::to_string(kBytesAtOnce)}),
                        .slot = slot_of(parsed->partition.home)};
  const Result<Reply> reply = context.router.run(command, context.deadline);
  if (!reply) return std::unexpected(reading_failure(reply.error()));
  const ReplyView view = **reply;
  if (view.size() != 3) return std::unexpected(reading_error_of(view));
  swept.examined += static_cast<std::size_t>(view[0].integer().value_or(0));
  swept.removed += static_cast<std::size_t>(view[1].integer().value_or(0));
  after_ = view[2].text();
  if (after_.empty()) sets_.pop_back();
  return {};
}

}  // namespace once::redis

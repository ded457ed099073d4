// Opening: the wire, what is at its end, and the retries.
#include <utility>

#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"
#include "stores/redis/startup.h"
#include "stores/redis/store.h"

namespace once {
namespace {

using redis::ServerStore;

// One attempt takes a fifth of the time for a call; retrying_store.h adds up to two to its own
// deadline: one that began just before it, and the reading back of that.
constexpr int kShares = 5;

RetryOptions retries_within(Duration timeout) {
  return {.cap = std::chrono::milliseconds(500), .deadline = timeout - 2 * (timeout / kShares)};
}

class RetriedServer final : public Decorator<RedisStore> {
 public:
  RetriedServer(std::unique_ptr<ServerStore> server, std::unique_ptr<Store> retried)
      : Decorator(*retried), server_(std::move(server)), retried_(std::move(retried)) {}

  RedisCounts counts() const override { return server_->counts(); }

 private:
  const std::unique_ptr<ServerStore> server_;
  const std::unique_ptr<Store> retried_;  // Before the server, and destroyed first.
};

Result<void> check_options(const RedisOptions& options) {
  constexpr Duration kLeast = std::chrono::seconds(1);
  if (options.host.empty() || options.port == 0) {
    return failure(ErrorCode::invalid, "redis: no host or port is named");
  }
  if (options.timeout < kLeast || options.timeout > kAttemptLife) {
    return failure(ErrorCode::invalid, "redis: a timeout has 1 to 60 seconds");
  }
  if (options.connections == 0) return failure(ErrorCode::invalid, "redis: no connections");
  if (options.database < 0) return failure(ErrorCode::invalid, "redis: a database has a number");
  if (!options.user.empty() && options.password.empty()) {
    return failure(ErrorCode::invalid, "redis: a user needs a password");
  }
  return {};
}

// One answer that no other source agrees with may be wrong (docs/hazards.md#h36).
Result<void> learn_time(redis::Router& router, const redis::ServerTime& time,
                        redis::Deadline deadline) {
  constexpr int kTries = 5;
  const redis::Command ping{.bytes = redis::text_of({"PING"}), .slot = 0};
  for (int i = 0; i < kTries && !time.is_settled(); ++i) {
    const std::vector<Result<redis::Reply>> replies = router.run({&ping, 1}, deadline);
    if (!replies.front()) return std::unexpected(replies.front().error());
  }
  if (time.is_settled()) return {};
  return failure(ErrorCode::unavailable, "redis: its answers do not agree on the time");
}

}  // namespace

Result<std::unique_ptr<RedisStore>> open_redis(const RedisOptions& options) {
  return open_redis(options, boot_clock());
}

Result<std::unique_ptr<RedisStore>> open_redis(const RedisOptions& options, Clock& clock,
                                               Entropy& entropy) {
  if (Result<void> sound = check_options(options); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  Result<std::unique_ptr<redis::Dialler>> dialler = redis::make_dialler(options);
  if (!dialler) return std::unexpected(std::move(dialler.error()));
  auto time = std::make_unique<redis::ServerTime>(clock);
  auto router = std::make_unique<redis::Router>(options, std::move(*dialler), *time);
  const redis::Deadline deadline = std::chrono::steady_clock::now() + options.timeout;
  if (Result<void> opened = router->open(deadline); !opened) {
    return std::unexpected(std::move(opened.error()));
  }
  if (Result<void> known = learn_time(*router, *time, deadline); !known) {
    return std::unexpected(std::move(known.error()));
  }
  Result<std::string> description = redis::check_servers(*router, options, deadline);
  if (!description) return std::unexpected(std::move(description.error()));
  auto server = std::make_unique<ServerStore>(std::move(time), std::move(router),
                                              std::move(*description), options.timeout / kShares);
  std::unique_ptr<Store> retried = retry(*server, retries_within(options.timeout), clock, entropy);
  return std::make_unique<RetriedServer>(std::move(server), std::move(retried));
}

}  // namespace once

// Opening: the connections, what is at their end, and the retries.
#include <utility>

#include "once/retrying_store.h"
#include "stores/decorators/decorator.h"
#include "stores/postgres/schema.h"
#include "stores/postgres/schema_sql.h"
#include "stores/postgres/startup.h"
#include "stores/postgres/store.h"

namespace once {
namespace {

using postgres::ServerStore;

// One attempt takes a fifth of the time for a call; retrying_store.h adds up to two to its own
// deadline: one that began just before it, and the reading back of that.
constexpr int kShares = 5;

RetryOptions retries_within(Duration timeout) {
  return {.cap = std::chrono::milliseconds(500), .deadline = timeout - 2 * (timeout / kShares)};
}

class RetriedServer final : public Decorator<PostgresStore> {
 public:
  RetriedServer(std::unique_ptr<ServerStore> server, std::unique_ptr<Store> retried)
      : Decorator(*retried), server_(std::move(server)), retried_(std::move(retried)) {}

  PostgresCounts counts() const override { return server_->counts(); }
  Result<void> check_writable() const override { return server_->check_writable(); }

 private:
  const std::unique_ptr<ServerStore> server_;
  const std::unique_ptr<Store> retried_;  // Before the server, and destroyed first.
};

Result<void> check_options(const PostgresOptions& options) {
  constexpr Duration kLeast = std::chrono::seconds(1);
  if (options.timeout < kLeast || options.timeout > kAttemptLife) {
    return failure(ErrorCode::invalid, "postgres: a timeout has 1 to 60 seconds");
  }
  if (options.connections == 0) return failure(ErrorCode::invalid, "postgres: no connections");
  if (postgres::is_schema_name(options.schema)) return {};
  return failure(
      ErrorCode::invalid,
      "postgres: the name of a schema has 1 to 48 of a-z, 0-9 and _, begins with a letter "
      "and not with pg_");
}

// One answer that no other source agrees with may be wrong (docs/hazards.md#h36). Until it is
// known, nobody asks for the time here: it would not step back.
Result<void> learn_time(const postgres::CallContext& context) {
  constexpr int kTries = 5;
  const postgres::Statement nothing("select * from " +
                                    postgres::quoted_name(context.pool.options().schema) +
                                    ".get_items(null, '{}', '{}', '{}')");
  for (int i = 0; i < kTries && !context.time.is_settled(); ++i) {
    const auto asked = ask(context, nothing, StoreOperation::other);
    if (!asked) return std::unexpected(asked.error());
  }
  if (context.time.is_settled()) return {};
  return failure(ErrorCode::unavailable, "postgres: its answers do not agree on the time");
}

}  // namespace

Result<std::unique_ptr<PostgresStore>> open_postgres(const PostgresOptions& options, Clock& clock,
                                                     Entropy& entropy) {
  if (Result<void> sound = check_options(options); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  auto time = std::make_unique<postgres::ServerTime>(clock);
  auto pool = std::make_unique<postgres::Pool>(options);
  const postgres::CallContext context{*pool, *time,
                                      std::chrono::steady_clock::now() + options.timeout};
  const Result<postgres::About> about = postgres::check_server(context);
  if (!about) return std::unexpected(about.error());
  if (Result<void> known = learn_time(context); !known) {
    return std::unexpected(std::move(known.error()));
  }
  auto server = std::make_unique<ServerStore>(std::move(time), std::move(pool), *about,
                                              options.timeout / kShares);
  std::unique_ptr<Store> retried = retry(*server, retries_within(options.timeout), clock, entropy);
  return std::make_unique<RetriedServer>(std::move(server), std::move(retried));
}

Result<void> create_postgres_schema(const PostgresOptions& options, const std::string& role) {
  if (Result<void> sound = check_options(options); !sound) return sound;
  return postgres::create_schema(options, role);
}

Result<std::string> postgres_schema_sql(const PostgresOptions& options, const std::string& role) {
  if (Result<void> sound = check_options(options); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  return "begin;\n" + postgres::creation_sql(options.schema, role) + "commit;\n";
}

Result<std::string> check_postgres_schema(const PostgresOptions& options) {
  if (Result<void> sound = check_options(options); !sound) {
    return std::unexpected(std::move(sound.error()));
  }
  return postgres::describe_schema(options);
}

}  // namespace once

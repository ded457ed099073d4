#include "stores/postgres/startup.h"

#include <utility>

#include "stores/postgres/errors.h"
#include "stores/postgres/schema_sql.h"
#include "stores/postgres/token.h"

namespace once::postgres {
namespace {

constexpr int kOldest = 140'000;

constexpr std::string_view kSettings = R"sql(
select pg_is_in_recovery()::int, (current_setting('transaction_read_only') = 'on')::int,
  current_setting('server_version'), current_setting('fsync'),
  current_setting('full_page_writes'), current_setting('synchronous_commit'),
  current_setting('synchronous_standby_names'),
  (select count(*) from pg_stat_replication))sql";

std::string text_at(const Rows& rows, std::size_t column) {
  return std::string(rows.bytes(0, column).value_or(""));
}

Result<void> check_format(const CallContext& context) {
  const std::string& schema = context.pool.options().schema;
  const Statement statement("select " + quoted_name(schema) + ".schema_format()");
  const auto rows = context.pool.run(statement, StoreOperation::other, context.deadline);
  if (!rows) return std::unexpected(reading_error_of(rows.error(), schema));
  const std::optional<std::int64_t> format = rows->size() == 1 ? rows->number(0, 0) : std::nullopt;
  if (format == kFormat) return {};
  if (format && *format > kFormat) {
    return failure(ErrorCode::unsupported, "postgres: schema \"" + schema +
                                               "\" was made by a newer version of Once; use that "
                                               "version, or another schema");
  }
  return failure(ErrorCode::corrupt,
                 "postgres: schema \"" + schema + "\" has no record of its format");
}

Result<std::shared_ptr<const Sealer>> sealer_of(const CallContext& context) {
  const std::string& schema = context.pool.options().schema;
  const Statement statement("select secret, place::bytea from " + quoted_name(schema) +
                            ".token_secret()");
  const auto rows = context.pool.run(statement, StoreOperation::other, context.deadline);
  if (!rows) return std::unexpected(reading_error_of(rows.error(), schema));
  const auto secret = rows->size() == 1 ? rows->bytes(0, 0) : std::nullopt;
  const auto place = rows->size() == 1 ? rows->bytes(0, 1) : std::nullopt;
  if (!secret || !place) {
    return failure(ErrorCode::corrupt, "postgres: schema \"" + schema + "\" has no secret");
  }
  return std::make_shared<TokenSealer>(Bytes(*secret), std::string(*place));
}

Result<void> check_writable(const Rows& rows) {
  if (rows.number(0, 0) == 1) {
    return failure(ErrorCode::unsupported,
                   "postgres: this is a standby, which takes no writes; give the address of the "
                   "primary, or of both with target_session_attrs=read-write");
  }
  if (rows.number(0, 1) == 1) {
    return failure(ErrorCode::unsupported,
                   "postgres: this takes no writes (default_transaction_read_only is on for the "
                   "server, the database or the role); turn it off");
  }
  return {};
}

Result<std::string> place_of(const CallContext& context) {
  Result<Lease> lease = context.pool.lease(context.deadline);
  if (!lease) return std::unexpected(std::move(lease.error()));
  if ((*lease)->server_version() < kOldest) {
    return failure(ErrorCode::unsupported, "postgres: this is PostgreSQL " +
                                               std::to_string((*lease)->server_version() / 10'000) +
                                               ", and Once needs 14 or later");
  }
  return (*lease)->place();
}

}  // namespace

std::vector<std::string> dangers_of(const Keeping& keeping) {
  std::vector<std::string> dangers;
  if (!keeping.fsync) {
    dangers.emplace_back("fsync is off, so a crash of the machine may lose or damage everything");
  }
  if (!keeping.full_page_writes) {
    dangers.emplace_back("full_page_writes is off, so a crash of the machine may damage pages");
  }
  if (keeping.synchronous_commit == "off") {
    dangers.emplace_back("synchronous_commit is off, so a crash may lose what was just answered");
  }
  const bool waits_for_none = keeping.synchronous_standbys.empty() ||
                              keeping.synchronous_commit == "local" ||
                              keeping.synchronous_commit == "off";
  if (keeping.standbys > 0 && waits_for_none) {
    dangers.emplace_back(
        "its standbys are asynchronous, so a failover may lose what was just answered");
  }
  return dangers;
}

Result<About> check_server(const CallContext& context) {
  const Result<std::string> place = place_of(context);
  if (!place) return std::unexpected(place.error());
  const Statement settings{std::string(kSettings)};
  const auto rows = context.pool.run(settings, StoreOperation::other, context.deadline);
  const std::string& schema = context.pool.options().schema;
  if (!rows) return std::unexpected(reading_error_of(rows.error(), schema));
  if (Result<void> writable = check_writable(*rows); !writable) {
    return std::unexpected(std::move(writable.error()));
  }
  if (Result<void> format = check_format(context); !format) {
    return std::unexpected(std::move(format.error()));
  }
  Result<std::shared_ptr<const Sealer>> sealer = sealer_of(context);
  if (!sealer) return std::unexpected(std::move(sealer.error()));
  const std::vector<std::string> dangers =
      dangers_of({.fsync = text_at(*rows, 3) != "off",
                  .full_page_writes = text_at(*rows, 4) != "off",
                  .synchronous_commit = text_at(*rows, 5),
                  .synchronous_standbys = text_at(*rows, 6),
                  .standbys = rows->number(0, 7).value_or(0)});
  About about{
      .description = "postgres " + text_at(*rows, 2) + " at " + *place + ", schema " + schema,
      .may_forget = !dangers.empty()};
  if (dangers.empty()) about.description += ", synced before every answer";
  for (const std::string& danger : dangers) about.description += "; MAY LOSE CLAIMS: " + danger;
  about.sealer = std::move(*sealer);
  return about;
}

}  // namespace once::postgres

#include <memory>
#include <stdexcept>
#include <utility>

#include "once/postgres_store.h"
#include "stores/decorators/decorator.h"
#include "stores/postgres/connection.h"
#include "stores/postgres/startup.h"
#include "stores/postgres/store.h"
#include "testing/servers/postgres.h"
#include "testing/stores/server_subject.h"

namespace once::testing {
namespace {

// Schemas of one server for the program, each for one store at a time: making one takes longer than
// most tests.
class Schemas {
 public:
  explicit Schemas(std::vector<std::string> settings) : server_(std::move(settings)) {}

  // Empty when it is handed out, and free again when it is let go.
  std::shared_ptr<const PostgresOptions> take() {
    std::string schema = name();
    auto options = std::make_unique<PostgresOptions>(
        PostgresOptions{.connection = server_.connection(),
                        .schema = schema,
                        .timeout = std::chrono::seconds(30)});  // The machine may be busy.
    return {options.release(), [this](const PostgresOptions* used) {
              free_.push_back(used->schema);
              delete used;
            }};
  }

 private:
  std::string name() {
    if (free_.empty()) {
      const std::string fresh = "once_" + std::to_string(count_++);
      create_postgres_schema({.connection = server_.connection(), .schema = fresh}).value();
      return fresh;
    }
    std::string used = std::move(free_.back());
    free_.pop_back();
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    if (!owner_) owner_ = postgres::Connection::open(server_.connection(), until).value();
    const auto emptied = owner_->exchange("delete from " + used + ".items", until);
    if (!emptied) throw std::runtime_error("cannot empty a schema: " + emptied.error().message);
    return used;
  }

  const PostgresServer server_;
  int count_ = 0;
  std::vector<std::string> free_;
  std::unique_ptr<postgres::Connection> owner_;
};

using SchemaOptions = std::shared_ptr<const PostgresOptions>;

SchemaOptions empty_schema() {
  static Schemas schemas({});
  return schemas.take();
}

// Of a server that syncs nothing.
SchemaOptions fast_schema() {
  static Schemas schemas({"fsync=off", "full_page_writes=off"});
  return schemas.take();
}

// Keeps its schema.
OpenOn opener(SchemaOptions options) {
  return [options = std::move(options)](Clock& clock) { return open_postgres(*options, clock); };
}

// The test's clock is the server's, too.
class PostgresTestsTime final : public postgres::ServerTime {
 public:
  using ServerTime::ServerTime;

  void learn(Time, Time, Time) override {}
  bool is_settled() override { return true; }
};

// Keeps its schema for as long as it lives.
class StoreInSchema final : public Decorator<Store> {
 public:
  StoreInSchema(SchemaOptions options, std::unique_ptr<Store> store)
      : Decorator(*store), options_(std::move(options)), store_(std::move(store)) {}

 private:
  const SchemaOptions options_;
  const std::unique_ptr<Store> store_;
};

std::unique_ptr<Store> open_in_tests_time(SchemaOptions options, Clock& clock) {
  constexpr auto kPatience = std::chrono::seconds(10);
  auto time = std::make_unique<PostgresTestsTime>(clock);
  auto pool = std::make_unique<postgres::Pool>(*options);
  const postgres::CallContext context{*pool, *time, std::chrono::steady_clock::now() + kPatience};
  postgres::About about = postgres::check_server(context).value();
  about.may_forget = false;  // As on a server that syncs.
  std::unique_ptr<Store> store = retried_in_tests_time(
      std::make_unique<postgres::ServerStore>(std::move(time), std::move(pool), about, kPatience));
  return std::make_unique<StoreInSchema>(std::move(options), std::move(store));
}

class MeasuredPostgres final : public MeasuredStore {
 public:
  Store& store() override { return *store_; }
  double requests() override { return static_cast<double>(store_->counts().requests); }
  std::optional<double> seconds_of_its_own(std::size_t clients, std::size_t count) override {
    return server_.seconds_of_inserts(clients, count);
  }

 private:
  static std::unique_ptr<PostgresStore> open_new(const PostgresOptions& options) {
    create_postgres_schema(options).value();
    return open_postgres(options).value();
  }

  const PostgresServer server_;
  const std::unique_ptr<PostgresStore> store_ = open_new({.connection = server_.connection()});
};

StoreHarness postgres_server() {
  return {
      .name = "postgres",
      .variants = {{.name = "postgres_moved_clock",
                    .open =
                        [] {
                          return std::make_unique<MovedClockSubject>(
                              opener(empty_schema()), Time(std::chrono::days(20'000)));
                        }},
                   {.name = "postgres_own_clock",
                    .open =
                        [] { return std::make_unique<OwnClockSubject>(opener(empty_schema())); },
                    .short_life = std::chrono::milliseconds(50),
                    .durable = true}},
      .missing = PostgresServer::missing,
      .open = [](Clock& clock) { return open_in_tests_time(fast_schema(), clock); },
      .serve =
          [] {
            const SchemaOptions options = empty_schema();
            return StoreAtAddress{options->connection + "?schema=" + options->schema, options};
          },
      .measure = []() -> std::unique_ptr<MeasuredStore> {
        return std::make_unique<MeasuredPostgres>();
      }};
}

}  // namespace

std::vector<StoreHarness> postgres_harnesses() { return {postgres_server()}; }

}  // namespace once::testing

#include "stores/postgres/home_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/backoff.h"
#include "stores/postgres/errors.h"
#include "stores/postgres/schema_sql.h"
#include "stores/postgres/stored_form.h"

namespace once::postgres {
namespace {

constexpr auto kListenerPatience =
    std::chrono::seconds(3);  // For each exchange: stop() waits for it.
constexpr auto kHeartbeat = std::chrono::seconds(10);

// Rows of a process that has died are left for so long. A process renews its own in time.
constexpr Duration kLife = std::chrono::minutes(5);
constexpr auto kRenewal = std::chrono::seconds(100);

constexpr PauseBounds kPauses{
    .shortest = Duration(50), .first = Duration(100), .longest = std::chrono::seconds(30)};

Deadline listener_deadline() { return std::chrono::steady_clock::now() + kListenerPatience; }

std::unexpected<Error> lost_listener() {
  return failure(ErrorCode::unavailable, "postgres: the connection that listens was lost");
}

}  // namespace

HomeListener::HomeListener(PostgresOptions options, Entropy& entropy)
    : options_(std::move(options)),
      channel_("once_" + options_.schema),
      entropy_(entropy),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HomeListener::~HomeListener() {
  stop();
  if (wake_ >= 0) ::close(wake_);
}

void HomeListener::start(Listener listener) {
  listener_ = std::move(listener);
  thread_ = std::thread([this] { run(); });
}

void HomeListener::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  ::eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  live_ = false;
}

void HomeListener::add(const std::string& home) {
  constexpr std::uint64_t kPositive = ~std::uint64_t{0} >> 1U;
  {
    const Lock lock(mutex_);
    Watched& watched = homes_[home];
    if (watched.count++ > 0) return;
    watched.number = static_cast<std::int64_t>(entropy_.random() & kPositive);
    by_number_[watched.number] = home;
  }
  ::eventfd_write(wake_, 1);
}

// Its row goes with the next request: it does no harm until then.
void HomeListener::remove(const std::string& home) {
  const Lock lock(mutex_);
  const auto found = homes_.find(home);
  if (found == homes_.end() || --found->second.count > 0) return;
  by_number_.erase(found->second.number);
  if (found->second.registered) removed_.emplace_back(home, found->second.number);
  homes_.erase(found);
}

void HomeListener::run() {
  Backoff backoff(kPauses, system_clock(), entropy_);
  while (!is_stopping()) {
    const Error error = listen_until_lost();
    if (is_stopping()) return;
    if (live_.exchange(false)) backoff.reset();
    tell_state(std::unexpected(error));
    if (error.code == ErrorCode::unsupported || !pause(backoff.next())) return;
  }
}

Error HomeListener::listen_until_lost() {
  Result<std::unique_ptr<Connection>> connection = connect();
  if (!connection) return std::move(connection.error());
  for (;;) {
    if (Result<void> done = serve_connection(**connection); !done) return std::move(done.error());
    if (is_stopping()) return {ErrorCode::unavailable, "stopped"};
  }
}

// A pooler gives statements to whichever connection is free, and news to none of its clients. It
// makes up the number of the backend that it tells them, by which it is known: LISTEN would stay on
// a connection that others use.
Result<std::unique_ptr<Connection>> HomeListener::connect() {
  Result<std::unique_ptr<Connection>> opened =
      Connection::open(options_.connection, listener_deadline());
  if (!opened) return opened;
  Connection& connection = **opened;
  const auto backend =
      connection.exchange(Statement("select pg_backend_pid()"), listener_deadline());
  if (!backend) return std::unexpected(reading_error_of(backend.error(), options_.schema));
  if (backend->number(0, 0) != PQbackendPID(connection.native())) {
    return failure(ErrorCode::unsupported,
                   "postgres: there is a pooler before the server, which passes on no "
                   "notifications; followers and waiters look by themselves");
  }
  const std::string script = "set application_name = 'once listens: " + options_.schema +
                             "'; listen " + quoted_name(channel_);
  const auto listening = connection.exchange(script, listener_deadline());
  if (!listening) return std::unexpected(reading_error_of(listening.error(), options_.schema));
  const Lock lock(mutex_);
  for (auto& [home, watched] : homes_) watched.registered = false;
  removed_.clear();  // What an earlier connection has left behind expires.
  registered_all_.reset();
  return opened;
}

// One turn: what is new goes to the server, and what the server says to the listener.
Result<void> HomeListener::serve_connection(Connection& connection) {
  if (Result<void> registered = register_homes(connection); !registered) return registered;
  if (!live_.exchange(true)) {
    tell_state({});
    listener_.anything();  // Was written while nothing was told.
  }
  const Deadline beat = std::chrono::steady_clock::now() + kHeartbeat;
  await_news(connection, beat);
  if (PQconsumeInput(connection.native()) == 0) return lost_listener();
  pass_on(connection);
  if (std::chrono::steady_clock::now() < beat) return {};
  return run_statement(connection, Statement("select 1"));
}

// What was written before the rows were there was not notified: so each is told once.
Result<void> HomeListener::register_homes(Connection& connection) {
  const Deadline now = std::chrono::steady_clock::now();
  const bool all = !registered_all_ || now - *registered_all_ >= kRenewal;
  const Request request = next_request(all);
  if (all) registered_all_ = now;
  if (!all && request.added.empty()) return {};
  constexpr int kParameters = 5;
  Statement statement(call_of(options_.schema, "watch_homes", kParameters));
  statement.number(kLife.count());
  for (const Numbered* const numbered : {&request.added, &request.removed}) {
    ArrayParameter homes = ArrayParameter::of_bytes();
    ArrayParameter numbers = ArrayParameter::of_numbers();
    for (const auto& [home, number] : *numbered) {
      homes.add(std::string_view(home));
      numbers.add(number);
    }
    statement.array(std::move(homes)).array(std::move(numbers));
  }
  if (Result<void> done = run_statement(connection, statement); !done) return done;
  if (!live_) return {};  // All is told then.
  for (const auto& [home, number] : request.added) listener_.written(home);
  return {};
}

HomeListener::Request HomeListener::next_request(bool all) {
  Request request;
  const Lock lock(mutex_);
  for (auto& [home, watched] : homes_) {
    if (std::exchange(watched.registered, true) && !all) continue;
    request.added.emplace_back(home, watched.number);
  }
  // In an order of their own, so that two processes do not wait for each other.
  if (all || !request.added.empty()) request.removed.swap(removed_);
  std::ranges::sort(request.added);
  std::ranges::sort(request.removed);
  return request;
}

Result<void> HomeListener::run_statement(Connection& connection, const Statement& statement) {
  const auto answer = connection.exchange(statement, listener_deadline());
  if (!answer) return std::unexpected(reading_error_of(answer.error(), options_.schema));
  pass_on(connection);
  return {};
}

void HomeListener::pass_on(Connection& connection) {
  struct Free {
    void operator()(PGnotify* notify) const { PQfreemem(notify); }
  };
  while (const std::unique_ptr<PGnotify, Free> notify{PQnotifies(connection.native())}) {
    const std::string_view text(notify->extra);
    if (text == "*") {
      listener_.anything();
      continue;
    }
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    std::string home;
    {
      const Lock lock(mutex_);
      const auto known = by_number_.find(number);
      if (known != by_number_.end()) home = known->second;
    }
    if (!home.empty()) listener_.written(home);
  }
}

void HomeListener::await_news(const Connection& connection, Deadline until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  std::array<pollfd, 2> both = {
      pollfd{.fd = connection.descriptor(), .events = POLLIN, .revents = 0},
      pollfd{.fd = wake_, .events = POLLIN, .revents = 0}};
  ::poll(both.data(), both.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  eventfd_t ignored = 0;
  if (both[1].revents != 0) ::eventfd_read(wake_, &ignored);
}

void HomeListener::tell_state(const Result<void>& state) {
  if (told_live_ == state.has_value()) return;
  told_live_ = state.has_value();
  listener_.changed(state);
}

// False if it is to stop.
bool HomeListener::pause(Duration length) {
  Lock lock(mutex_);
  const Deadline until = std::chrono::steady_clock::now() + length;
  while (!stopping_) {
    if (stopped_.wait_until(lock.native(), until) == std::cv_status::timeout) break;
  }
  return !stopping_;
}

bool HomeListener::is_stopping() {
  const Lock lock(mutex_);
  return stopping_;
}

}  // namespace once::postgres

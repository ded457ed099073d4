// Tells what other processes commit, by LISTEN on a connection of its own.
//
// What it is to be told about is in table `watches`: a row for each home, with a number that this
// process has drawn for it. A commit that writes to such a home notifies that number. So commits to
// other homes cost nothing more, and other users of the database who listen learn no names.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "once/entropy.h"
#include "once/home_watch.h"
#include "once/postgres_store.h"
#include "stores/postgres/connection.h"

namespace once::postgres {

class HomeListener final : public HomeWatch {
 public:
  explicit HomeListener(PostgresOptions options, Entropy& entropy = system_entropy());
  ~HomeListener() override;

  void start(Listener listener) override;
  void stop() override;
  void add(const std::string& home) override;
  void remove(const std::string& home) override;
  bool is_live() const override { return live_; }

 private:
  struct Watched {
    std::size_t count = 0;
    std::int64_t number = 0;
    bool registered = false;  // On the connection that there is.
  };
  using Numbered = std::vector<std::pair<std::string, std::int64_t>>;

  // What the next call of watch_homes() is to say.
  struct Request {
    Numbered added;
    Numbered removed;
  };

  void run();
  Error listen_until_lost();
  Result<std::unique_ptr<Connection>> connect();
  Result<void> serve_connection(Connection& connection);
  Result<void> register_homes(Connection& connection);
  Result<void> run_statement(Connection& connection, const Statement& statement);
  void pass_on(Connection& connection);
  void await_news(const Connection& connection, Deadline until);
  Request next_request(bool all);
  void tell_state(const Result<void>& state);
  bool pause(Duration length);
  bool is_stopping();

  const PostgresOptions options_;
  const std::string channel_;
  Entropy& entropy_;
  const int wake_;  // An eventfd, for the thread while it waits for the server.

  // Used by the thread alone.
  Listener listener_;
  std::optional<Deadline> registered_all_;  // When, on the connection that there is.
  std::optional<bool> told_live_;           // What was told last.

  std::atomic<bool> live_ = false;
  std::condition_variable stopped_;
  Mutex mutex_;
  bool stopping_ ONCE_GUARDED_BY(mutex_) = false;
  std::unordered_map<std::string, Watched> homes_ ONCE_GUARDED_BY(mutex_);
  std::unordered_map<std::int64_t, std::string> by_number_ ONCE_GUARDED_BY(mutex_);
  Numbered removed_ ONCE_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace once::postgres

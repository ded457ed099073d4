// One connection to a database: a statement goes out, its answer comes back, each by a deadline.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "once/error.h"
#include "stores/postgres/statement.h"

namespace once::postgres {

using Deadline = std::chrono::steady_clock::time_point;

// Rows in binary form. Columns that are null are empty.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}

  std::size_t size() const { return static_cast<std::size_t>(PQntuples(result_.get())); }
  std::size_t columns() const { return static_cast<std::size_t>(PQnfields(result_.get())); }

  std::optional<std::string_view> bytes(std::size_t row, std::size_t column) const;
  // Of integer or bigint.
  std::optional<std::int64_t> number(std::size_t row, std::size_t column) const;

 private:
  struct Free {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Free> result_;
};

// What the server, or libpq, said went wrong.
struct Failure {
  enum class Sent : std::uint8_t {
    partly,   // Not the end of it: nothing was performed.
    refused,  // The server answered that it rolled the statement back.
    wholly,   // Then the connection was lost, or the deadline came: anything may have happened.
  };
  Sent sent = Sent::partly;
  ErrorCode code = ErrorCode::unavailable;  // Of what was sent partly.
  std::string state;                        // SQLSTATE; empty where it is not the server's.
  std::string message;                      // The server's, in one line.
};

// Not to be shared between threads.
class Connection {
 public:
  // `unavailable`: nobody answers there by the deadline; `denied`: not with this user or password;
  // `invalid`: no such database, or no connection string.
  static Result<std::unique_ptr<Connection>> open(const std::string& connection, Deadline deadline);

  // Sends what goes without waiting. finish() must follow.
  void start(const Statement& statement);
  // Several commands in one text, without parameters.
  void start(const std::string& script);

  // Whether there is something to wait for, and on what; then what can be done about it at once.
  bool waits() const { return state_ == State::sending || state_ == State::receiving; }
  int descriptor() const { return PQsocket(connection_.get()); }
  short events() const;
  void go_on();

  // The rows of the last command that had some.
  std::expected<Rows, Failure> finish();

  // All of that, waiting up to the deadline.
  std::expected<Rows, Failure> exchange(const Statement& statement, Deadline deadline);
  std::expected<Rows, Failure> exchange(const std::string& script, Deadline deadline);

  // Whether it may be used again.
  bool sound() const;
  // Whether the server has closed it meanwhile, or says something unasked.
  bool disturbed() const;

  // HOST:PORT and the database's name.
  std::string place() const;
  int server_version() const { return PQserverVersion(connection_.get()); }
  PGconn* native() const { return connection_.get(); }

 private:
  enum class State : std::uint8_t { idle, sending, receiving, finished, broken };

  explicit Connection(PGconn* connection) : connection_(connection) {}

  void began(int sent);
  void send_some();
  void receive_some();
  void take(PGresult* result);
  void fail(std::string message);

  struct Close {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  const std::unique_ptr<PGconn, Close> connection_;
  State state_ = State::idle;
  bool sent_wholly_ = false;
  std::optional<Rows> rows_;
  std::optional<Failure> failure_;
};

// Until all have what they wait for, or the deadline. A slow one keeps no other waiting.
void await_answers(std::span<Connection* const> connections, Deadline deadline);

}  // namespace once::postgres

#include "stores/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "stores/postgres/errors.h"

namespace once::postgres {
namespace {

// Milliseconds for poll(), rounded up.
int left_until(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  constexpr std::int64_t kMost = 60'000;
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kMost));
}

// What libpq says has line breaks, and hints behind them.
std::string one_line(const char* text) {
  std::string line(text == nullptr ? "" : text);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
    line.pop_back();
  }
  std::ranges::replace(line, '\n', ' ');
  return line;
}

std::string field(const PGresult* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text == nullptr ? "" : one_line(text);
}

bool wait_for(int descriptor, short events, Deadline deadline) {
  pollfd watched{.fd = descriptor, .events = events, .revents = 0};
  return ::poll(&watched, 1, left_until(deadline)) > 0;
}

}  // namespace

std::optional<std::string_view> Rows::bytes(std::size_t row, std::size_t column) const {
  const int r = static_cast<int>(row);
  const int c = static_cast<int>(column);
  if (PQgetisnull(result_.get(), r, c) != 0) return std::nullopt;
  return std::string_view(PQgetvalue(result_.get(), r, c),
                          static_cast<std::size_t>(PQgetlength(result_.get(), r, c)));
}

std::optional<std::int64_t> Rows::number(std::size_t row, std::size_t column) const {
  const std::optional<std::string_view> text = bytes(row, column);
  if (!text || (text->size() != 4 && text->size() != 8)) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : *text) value = value << 8U | static_cast<unsigned char>(c);
  if (text->size() == 4) return static_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value);
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& connection,
                                                     Deadline deadline) {
  constexpr std::array<const char*, 3> kNames = {"dbname", "fallback_application_name", nullptr};
  const std::array<const char*, 3> values = {connection.c_str(), "once", nullptr};
  std::unique_ptr<Connection> made(
      new Connection(PQconnectStartParams(kNames.data(), values.data(), 1)));
  PGconn* const native = made->native();
  if (native == nullptr) return failure(ErrorCode::unavailable, "postgres: out of memory");
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  while (PQstatus(native) != CONNECTION_BAD && next != PGRES_POLLING_OK &&
         next != PGRES_POLLING_FAILED) {
    const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!wait_for(PQsocket(native), events, deadline)) {
      return failure(ErrorCode::unavailable, "postgres: no answer from " + made->place());
    }
    next = PQconnectPoll(native);
  }
  if (PQstatus(native) != CONNECTION_OK) {
    return std::unexpected(connecting_error(one_line(PQerrorMessage(native))));
  }
  PQsetnonblocking(native, 1);
  PQsetNoticeProcessor(native, [](void*, const char*) {}, nullptr);  // Not to stderr.
  return made;
}

void Connection::start(const Statement& statement) {
  const std::vector<const char*> values = statement.values();
  const std::vector<int> lengths = statement.lengths();
  const std::vector<int> formats(statement.size(), 1);
  began(PQsendQueryParams(connection_.get(), statement.text().c_str(),
                          static_cast<int>(statement.size()), statement.types(), values.data(),
                          lengths.data(), formats.data(), 1));
}

void Connection::start(const std::string& script) {
  began(PQsendQuery(connection_.get(), script.c_str()));
}

void Connection::began(int sent) {
  rows_.reset();
  failure_.reset();
  sent_wholly_ = false;
  state_ = State::sending;
  if (sent == 0) return fail(one_line(PQerrorMessage(connection_.get())));
  send_some();
}

short Connection::events() const {
  constexpr short kBoth = POLLIN | POLLOUT;
  return state_ == State::sending ? kBoth : POLLIN;
}

void Connection::go_on() {
  if (state_ == State::sending) {
    // The server may be waiting for us to read.
    if (PQconsumeInput(connection_.get()) == 0) {
      return fail(one_line(PQerrorMessage(connection_.get())));
    }
    send_some();
  } else if (state_ == State::receiving) {
    receive_some();
  }
}

void Connection::send_some() {
  const int left = PQflush(connection_.get());
  if (left < 0) return fail(one_line(PQerrorMessage(connection_.get())));
  if (left > 0) return;
  sent_wholly_ = true;
  state_ = State::receiving;
}

// Whether a statement took effect is decided after its rows were sent: the commit comes with the
// end of the exchange, and may fail. So everything is read, up to the server's being ready.
void Connection::receive_some() {
  if (PQconsumeInput(connection_.get()) == 0) {
    // What the server said last, such as why it ended the connection, is still to be had.
    while (PGresult* const result = PQgetResult(connection_.get())) {
      take(result);
      if (PQstatus(connection_.get()) == CONNECTION_BAD && failure_) break;
    }
    return fail(one_line(PQerrorMessage(connection_.get())));
  }
  while (PQisBusy(connection_.get()) == 0) {
    PGresult* const result = PQgetResult(connection_.get());
    if (result == nullptr) {
      state_ = State::finished;
      return;
    }
    take(result);
    if (PQstatus(connection_.get()) == CONNECTION_BAD) {
      return fail(one_line(PQerrorMessage(connection_.get())));
    }
  }
}

void Connection::take(PGresult* result) {
  Rows rows(result);
  switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK: rows_ = std::move(rows); return;
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY: return;
    default: break;
  }
  if (failure_) return;
  std::string message = field(result, PG_DIAG_MESSAGE_PRIMARY);
  if (message.empty()) message = one_line(PQresultErrorMessage(result));
  failure_ = Failure{.sent = Failure::Sent::refused,
                     .state = field(result, PG_DIAG_SQLSTATE),
                     .message = std::move(message)};
}

void Connection::fail(std::string message) {
  state_ = State::broken;
  if (!failure_) failure_ = Failure{.message = std::move(message)};
  failure_->sent = sent_wholly_ ? Failure::Sent::wholly : Failure::Sent::partly;
}

std::expected<Rows, Failure> Connection::finish() {
  if (waits()) fail("no answer in time");
  const bool is_over =
      state_ == State::finished && PQtransactionStatus(connection_.get()) == PQTRANS_IDLE;
  if (!is_over) {
    fail("the connection was lost");
  } else {
    state_ = State::idle;
  }
  if (failure_) return std::unexpected(std::move(*failure_));
  if (!rows_) return Rows(PQmakeEmptyPGresult(connection_.get(), PGRES_TUPLES_OK));
  return std::move(*rows_);
}

std::expected<Rows, Failure> Connection::exchange(const Statement& statement, Deadline deadline) {
  start(statement);
  Connection* const self = this;
  await_answers({&self, 1}, deadline);
  return finish();
}

std::expected<Rows, Failure> Connection::exchange(const std::string& script, Deadline deadline) {
  start(script);
  Connection* const self = this;
  await_answers({&self, 1}, deadline);
  return finish();
}

bool Connection::sound() const {
  return state_ == State::idle && PQstatus(connection_.get()) == CONNECTION_OK;
}

// The server says nothing unasked but that it ends.
bool Connection::disturbed() const {
  pollfd watched{.fd = descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) != 0;
}

std::string Connection::place() const {
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  return text(PQhost(connection_.get())) + ":" + text(PQport(connection_.get())) + "/" +
         text(PQdb(connection_.get()));
}

void await_answers(std::span<Connection* const> connections, Deadline deadline) {
  for (;;) {
    std::vector<pollfd> watched;
    std::vector<Connection*> waiting;
    for (Connection* const connection : connections) {
      if (!connection->waits()) continue;
      waiting.push_back(connection);
      watched.push_back(
          {.fd = connection->descriptor(), .events = connection->events(), .revents = 0});
    }
    if (waiting.empty()) return;
    const int left = left_until(deadline);
    const int ready = ::poll(watched.data(), watched.size(), left);
    if (ready <= 0 && left == 0) return;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (watched[i].revents != 0) waiting[i]->go_on();
    }
  }
}

}  // namespace once::postgres

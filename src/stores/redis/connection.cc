#include "stores/redis/connection.h"

#include <array>
#include <utility>

namespace once::redis {

Connection::Connection(std::unique_ptr<Channel> channel)
    : channel_(std::move(channel)),
      reader_(redisReaderCreate()),
      room_(std::make_unique<std::array<char, 64U << 10>>()) {}

void Connection::start(std::span<const std::string_view> commands) {
  outgoing_.clear();
  ends_.clear();
  replies_.clear();
  sent_ = 0;
  for (const std::string_view command : commands) {
    outgoing_.append(command);
    ends_.push_back(outgoing_.size());
  }
  replies_.reserve(ends_.size());
  can_send_ = can_send_ && send_some();
}

void Connection::go_on() {
  can_send_ = can_send_ && send_some();
  // Replies that arrived are read even if sending failed: they tell what was done.
  can_receive_ = can_receive_ && receive_some();
}

std::vector<Result<Reply>> Connection::finish() {
  missed_ = missed_ || replies_.size() < ends_.size();
  while (replies_.size() < ends_.size()) {
    const bool whole = ends_[replies_.size()] <= sent_;
    replies_.emplace_back(failure(
        whole ? ErrorCode::unknown : ErrorCode::unavailable,
        whole ? "redis: no reply came" : "redis: the connection broke before all was sent"));
  }
  return std::exchange(replies_, {});
}

std::vector<Result<Reply>> Connection::exchange(std::span<const std::string_view> commands,
                                                Deadline deadline) {
  start(commands);
  Connection* const self = this;
  await_replies({&self, 1}, deadline);
  return finish();
}

bool Connection::disturbed() const {
  pollfd one{.fd = channel_->descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) != 0;
}

short Connection::events() const {
  const bool sending = can_send_ && sent_ < outgoing_.size();
  return static_cast<short>(POLLIN | (sending ? POLLOUT : 0) | channel_->wants());
}

// False if the connection is broken.
bool Connection::send_some() {
  while (sent_ < outgoing_.size()) {
    const auto sent = channel_->send(std::string_view(outgoing_).substr(sent_));
    if (!sent) return false;
    if (*sent == 0) return true;
    sent_ += *sent;
  }
  return true;
}

// False if the connection is broken, or what comes is not the protocol.
bool Connection::receive_some() {
  const auto came = channel_->receive(*room_);
  if (!came) return false;
  if (*came == 0) return true;
  if (redisReaderFeed(reader_.get(), room_->data(), *came) != REDIS_OK) return false;
  while (replies_.size() < ends_.size()) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) return false;
    if (reply == nullptr) return true;
    replies_.emplace_back(Reply(static_cast<redisReply*>(reply)));
  }
  return true;
}

void await_replies(std::span<Connection* const> connections, Deadline deadline) {
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Connection*> theirs;
    for (Connection* const connection : connections) {
      if (!connection->waits()) continue;
      waiting.push_back(
          {.fd = connection->descriptor(), .events = connection->events(), .revents = 0});
      theirs.push_back(connection);
    }
    if (waiting.empty() || !net::wait_for(waiting, deadline)) return;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) theirs[i]->go_on();
    }
  }
}

}  // namespace once::redis

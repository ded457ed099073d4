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
  sent_ = 0;
  for (const std::string_view command : commands) {
    outgoing_.append(command);
    ends_.push_back(outgoing_.size());
  }
  sound_ = sound_ && send_some();
}

std::vector<Result<Reply>> Connection::finish(Deadline deadline) {
  std::vector<Result<Reply>> replies;
  replies.reserve(ends_.size());
  if (sound_) await_replies(replies, deadline);
  sound_ = sound_ && replies.size() == ends_.size();
  while (replies.size() < ends_.size()) {
    const bool whole = ends_[replies.size()] <= sent_;
    replies.emplace_back(failure(
        whole ? ErrorCode::unknown : ErrorCode::unavailable,
        whole ? "redis: no reply came" : "redis: the connection broke before all was sent"));
  }
  return replies;
}

bool Connection::disturbed() const {
  pollfd one{.fd = channel_->descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) != 0;
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
bool Connection::receive_some(std::vector<Result<Reply>>& replies) {
  const auto came = channel_->receive(*room_);
  if (!came) return false;
  if (*came == 0) return true;
  if (redisReaderFeed(reader_.get(), room_->data(), *came) != REDIS_OK) return false;
  while (replies.size() < ends_.size()) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) return false;
    if (reply == nullptr) return true;
    replies.emplace_back(Reply(static_cast<redisReply*>(reply)));
  }
  return true;
}

void Connection::await_replies(std::vector<Result<Reply>>& replies, Deadline deadline) {
  while (replies.size() < ends_.size()) {
    const bool sending = sent_ < outgoing_.size();
    const auto events = static_cast<short>(POLLIN | (sending ? POLLOUT : 0) | channel_->wants());
    if (!wait_for(channel_->descriptor(), events, deadline)) return;
    // What has come is read even if no more can be sent: it tells what was done.
    const bool can_send = send_some();
    if (!receive_some(replies) || !can_send) {
      while (replies.size() < ends_.size() && receive_some(replies)) {
        if (!wait_for(channel_->descriptor(), POLLIN, deadline)) break;
      }
      sound_ = false;
      return;
    }
  }
}

}  // namespace once::redis

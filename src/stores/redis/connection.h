// One connection: commands go out together and their replies come back in their order.
#pragma once

#include <hiredis/hiredis.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/channel.h"
#include "stores/redis/protocol.h"

namespace once::redis {

using net::Channel;
using net::Deadline;
using net::Endpoint;

// Not to be shared between threads.
class Connection {
 public:
  explicit Connection(std::unique_ptr<Channel> channel);

  // Sends what goes without waiting. finish() must follow.
  void start(std::span<const std::string_view> commands);

  // Whether there are replies to wait for, and on what; then what can be done about them at once.
  bool waits() const { return can_receive_ && replies_.size() < ends_.size(); }
  int descriptor() const { return channel_->descriptor(); }
  short events() const;
  void go_on();

  // The replies. Where one has not come: `unknown` if its command was sent whole, otherwise
  // `unavailable`, for a server does nothing about a part of a command.
  std::vector<Result<Reply>> finish();

  // All of that, waiting up to the deadline.
  std::vector<Result<Reply>> exchange(std::span<const std::string_view> commands,
                                      Deadline deadline);

  // Whether it may be used again. False after a reply was missed.
  bool sound() const { return can_send_ && can_receive_ && !missed_; }

  // Whether the server has closed it, or says something unasked.
  bool disturbed() const;

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  bool send_some();
  bool receive_some();

  const std::unique_ptr<Channel> channel_;
  const std::unique_ptr<redisReader, FreeReader> reader_;
  const std::unique_ptr<std::array<char, 64U << 10>> room_;
  bool can_send_ = true;
  bool can_receive_ = true;
  bool missed_ = false;  // A reply that may come yet.

  std::string outgoing_;
  std::vector<std::size_t> ends_;  // Of each command in `outgoing_`.
  std::size_t sent_ = 0;
  std::vector<Result<Reply>> replies_;
};

// Until all have what they wait for, or the deadline. A slow server keeps no other waiting, and
// what has come by the deadline is taken.
void await_replies(std::span<Connection* const> connections, Deadline deadline);

}  // namespace once::redis

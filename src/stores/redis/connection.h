// One connection: commands go out together and their replies come back in their order.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/channel.h"
#include "stores/redis/reply.h"

namespace once::redis {

// Not to be shared between threads.
class Connection {
 public:
  explicit Connection(std::unique_ptr<Channel> channel);

  // Sends what goes without waiting. finish() must follow.
  void start(std::span<const std::string_view> commands);

  // The replies. Where one did not come by the deadline, or at all: `unknown` if its command was
  // sent whole, otherwise `unavailable`, for a server does nothing about a part of a command.
  std::vector<Result<Reply>> finish(Deadline deadline);

  std::vector<Result<Reply>> exchange(std::span<const std::string_view> commands,
                                      Deadline deadline) {
    start(commands);
    return finish(deadline);
  }

  // Whether it may be used again. False after a reply was missed.
  bool sound() const { return sound_; }
  void abandon() { sound_ = false; }

  // Whether the server has closed it, or says something unasked.
  bool disturbed() const;

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  bool send_some();
  bool receive_some(std::vector<Result<Reply>>& replies);
  void await_replies(std::vector<Result<Reply>>& replies, Deadline deadline);

  const std::unique_ptr<Channel> channel_;
  const std::unique_ptr<redisReader, FreeReader> reader_;
  const std::unique_ptr<std::array<char, 64U << 10>> room_;
  bool sound_ = true;

  std::string outgoing_;
  std::vector<std::size_t> ends_;  // Of each command in `outgoing_`.
  std::size_t sent_ = 0;
};

}  // namespace once::redis

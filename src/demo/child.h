// A process of our own, and a socket of whole messages to it. It ends with its owner, even
// if that is killed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/time.h"

namespace once::demo {

class Child {
 public:
  // Runs `body` with the other end in a new process, which ends when it returns. This process must
  // have no threads.
  static Result<Child> start(const std::function<void(int socket)>& body);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // Kills it.

  int socket() const { return socket_; }
  bool send(std::string_view message) const;
  std::optional<std::string> receive() const;  // Nothing once it has ended.

  // As receive(), but nothing also if no message came in time.
  std::optional<std::string> receive_within(Duration patience) const;

  // Once it has ended, or is about to: whether SIGKILL ended it.
  bool was_killed();

 private:
  Child() = default;
  void end() noexcept;

  pid_t pid_ = 0;
  int socket_ = -1;
};

inline constexpr std::size_t kMaxMessage = 1'024;

// For both ends. Longer ones are cut.
bool send_message(int socket, std::string_view message);
std::optional<std::string> receive_message(int socket);  // Nothing once the other end is closed.

}  // namespace once::demo

// A terminal whose other side a test reads.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>

namespace once::testing {

class Terminal {
 public:
  Terminal() {
    if (::openpty(&reader_, &writer_, nullptr, nullptr, nullptr) != 0) std::abort();
    ::fcntl(reader_, F_SETFD, FD_CLOEXEC);
    ::fcntl(writer_, F_SETFD, FD_CLOEXEC);
  }
  ~Terminal() {
    ::close(reader_);
    ::close(writer_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int writer() const { return writer_; }  // A program's side.

  // Reads until that was shown. False if it is not within a minute.
  bool shows(const std::string& text) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (shown_.find(text) == std::string::npos) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      pollfd watched{reader_, POLLIN, 0};
      if (left.count() <= 0 || ::poll(&watched, 1, static_cast<int>(left.count())) <= 0) {
        return false;
      }
      std::array<char, 4096> room{};
      const ssize_t count = ::read(reader_, room.data(), room.size());
      if (count <= 0) return false;
      shown_.append(room.data(), static_cast<std::size_t>(count));
    }
    return true;
  }
  const std::string& shown() const { return shown_; }

 private:
  int reader_ = -1;
  int writer_ = -1;
  std::string shown_;
};

}  // namespace once::testing

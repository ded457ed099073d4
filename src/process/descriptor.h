// File descriptors that close themselves.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace once::process {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  bool is_open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// Both ends are numbered above the descriptors that a command is given, so that giving it one of
// them never closes another.
struct Pipe {
  Descriptor read;
  Descriptor write;

  bool open() {
    constexpr int kLowest = 10;
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    const Descriptor low_read(ends[0]);
    const Descriptor low_write(ends[1]);
    read = Descriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, kLowest));
    write = Descriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, kLowest));
    return read.is_open() && write.is_open();
  }
};

// Wakes a thread that polls.
class Wake {
 public:
  bool open() {
    event_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    return event_.is_open();
  }
  int get() const { return event_.get(); }  // Readable from wake() until clear().
  void wake() const {
    const std::uint64_t one = 1;
    (void)!::write(event_.get(), &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    (void)!::read(event_.get(), &count, sizeof count);
  }

 private:
  Descriptor event_;
};

}  // namespace once::process

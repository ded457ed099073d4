#include "process/output_tee.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace once::process {

void Captured::add(std::string_view more, const Keep& keep) {
  if (keep.part == Keep::Part::last) {
    bytes += more;
    if (bytes.size() <= keep.most) return;
    bytes.erase(0, bytes.size() - keep.most);
    cut = true;
    return;
  }
  const std::size_t room = keep.most - bytes.size();
  bytes += more.substr(0, room);
  cut = cut || more.size() > room;
}

pollfd OutputTee::awaited() const {
  return unsent_.empty() ? pollfd{from_.get(), POLLIN, 0} : pollfd{to_, POLLOUT, 0};
}

void OutputTee::advance() {
  if (unsent_.empty()) {
    (void)read(SIZE_MAX);
  } else {
    write();
  }
}

// How many bytes; none at the end of this output.
std::size_t OutputTee::read(std::size_t most) {
  std::array<char, 16U << 10> some;
  const auto count = ::read(from_.get(), some.data(), std::min(some.size(), most));
  if (count < 0 && errno == EINTR) return 0;
  if (count <= 0) {
    from_.close();
    return 0;
  }
  const std::string_view bytes(some.data(), static_cast<std::size_t>(count));
  if (to_ >= 0) unsent_ += bytes;
  captured_.add(bytes, keep_);
  return bytes.size();
}

// A pipe that can be written to takes so much without blocking, be it non-blocking or not.
void OutputTee::write() {
  const auto count = ::write(to_, unsent_.data(), std::min<std::size_t>(unsent_.size(), PIPE_BUF));
  if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (count <= 0) {
    unsent_.clear();  // Nobody reads it any more; it is still kept.
  } else {
    unsent_.erase(0, static_cast<std::size_t>(count));
  }
}

void OutputTee::cut_off() {
  int left = 0;
  if (from_.is_open() && ::ioctl(from_.get(), FIONREAD, &left) == 0) {
    while (from_.is_open() && left > 0)
      left -= static_cast<int>(read(static_cast<std::size_t>(left)));
  }
  from_.close();
  while (!unsent_.empty()) {
    pollfd to = awaited();
    if (::poll(&to, 1, 0) <= 0) return;
    write();
  }
}

}  // namespace once::process

#include "cli/output_passage.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace once::cli {

void Captured::add(std::string_view more) {
  const std::size_t room = kMost - bytes.size();
  bytes += more.substr(0, room);
  cut = cut || more.size() > room;
}

OutputPassage::~OutputPassage() {
  if (from_ >= 0) ::close(from_);
}

pollfd OutputPassage::readable() const { return {unsent_.empty() ? from_ : -1, POLLIN, 0}; }
pollfd OutputPassage::writable() const { return {unsent_.empty() ? -1 : to_, POLLOUT, 0}; }

void OutputPassage::read() { (void)take(SIZE_MAX); }

// How many bytes; none at the end of this output.
std::size_t OutputPassage::take(std::size_t most) {
  std::array<char, 16U << 10> some;
  const auto count = ::read(from_, some.data(), std::min(some.size(), most));
  if (count < 0 && errno == EINTR) return 0;
  if (count <= 0) {
    ::close(from_);
    from_ = -1;
    return 0;
  }
  const std::string_view bytes(some.data(), static_cast<std::size_t>(count));
  unsent_ += bytes;
  captured_.add(bytes);
  return bytes.size();
}

// So much goes into a pipe that can be written to without waiting, be it non-blocking or not.
void OutputPassage::write() {
  const auto count = ::write(to_, unsent_.data(), std::min<std::size_t>(unsent_.size(), PIPE_BUF));
  if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (count <= 0) {
    unsent_.clear();  // Nobody reads it any more; it is still kept.
  } else {
    unsent_.erase(0, static_cast<std::size_t>(count));
  }
}

void OutputPassage::cut_off() {
  int left = 0;
  if (from_ >= 0 && ::ioctl(from_, FIONREAD, &left) == 0) {
    while (from_ >= 0 && left > 0) left -= static_cast<int>(take(static_cast<std::size_t>(left)));
  }
  if (from_ >= 0) ::close(from_);
  from_ = -1;
  for (pollfd to = writable(); !unsent_.empty() && ::poll(&to, 1, 0) > 0;) write();
}

}  // namespace once::cli

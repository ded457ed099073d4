#include "cli/lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace once::cli {

bool Lines::read_more() {
  std::array<char, 64 << 10> buffer;
  ssize_t count = 0;
  do {
    count = ::read(file_, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count <= 0) {
    ended_ = true;
    return false;
  }
  read_.erase(0, std::exchange(begin_, 0));
  read_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> Lines::line() {
  std::size_t end = 0;
  while ((end = read_.find('\n', begin_)) == std::string::npos && !ended_) read_more();
  if (end == std::string::npos) {
    if (begin_ == read_.size()) return std::nullopt;
    end = read_.size();
  }
  std::string line = read_.substr(begin_, end - begin_);
  begin_ = std::min(end + 1, read_.size());
  return line;
}

bool Lines::ready() const {
  if (ended_ || read_.find('\n', begin_) != std::string::npos) return true;
  pollfd wanted{.fd = file_, .events = POLLIN, .revents = 0};
  return ::poll(&wanted, 1, 0) != 0;
}

std::vector<std::string> Lines::next(Room room, Partial partial) {
  std::vector<std::string> batch;
  std::size_t bytes = 0;
  while (batch.size() < room.lines && bytes < room.bytes) {
    if (!batch.empty() && partial == Partial::at_a_pause && !ready()) break;
    std::optional<std::string> next = line();
    if (!next) break;
    if (next->ends_with('\r')) next->pop_back();
    if (next->empty() && empty_ == Empty::pass_over) continue;
    bytes += next->size();
    batch.push_back(std::move(*next));
  }
  return batch;
}

}  // namespace once::cli

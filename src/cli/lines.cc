#include "cli/lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace once::cli {
namespace {

constexpr std::size_t kLongest = 256U << 20;

}  // namespace

void Lines::read_more() {
  std::array<char, 64 << 10> buffer;
  ssize_t count = 0;
  do {
    count = ::read(file_, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    const std::string why = std::error_code(errno, std::generic_category()).message();
    broken_ = Error{ErrorCode::denied, "the input cannot be read: " + why};
  }
  ended_ = count <= 0;
  read_.erase(0, std::exchange(begin_, 0));
  if (!ended_) read_.append(buffer.data(), static_cast<std::size_t>(count));
  if (read_.size() > kLongest + buffer.size()) {
    broken_ = Error{ErrorCode::too_large, "a line is longer than 256 MiB"};
  }
}

std::optional<std::string> Lines::line() {
  std::size_t end = 0;
  std::size_t searched = begin_;
  while (!broken_ && (end = read_.find('\n', searched)) == std::string::npos && !ended_) {
    searched = read_.size() - begin_;  // Reading moves the line to the front.
    read_more();
  }
  if (broken_) return std::nullopt;
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

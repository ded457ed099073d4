#include "cli/input.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>
#include <utility>

#include "wire/json.h"
#include "wire/text.h"

namespace once::cli {
namespace {

constexpr std::size_t kMost = 256U << 20;  // Of a content, and of a line.

Result<std::string> read_all(std::istream& in, const std::string& name) {
  std::string content;
  std::array<char, 64 << 10> buffer;
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    content.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (content.size() > kMost) return failure(ErrorCode::too_large, name + " is too large");
  }
  if (in.bad()) return failure(ErrorCode::invalid, name + " cannot be read");
  return content;
}

}  // namespace

Result<std::string> content_of(const Invocation& invocation, std::size_t index) {
  const auto name = invocation.option("file");
  if (invocation.words.size() > index) {
    if (!name) return invocation.words[index];
    return failure(ErrorCode::invalid, "the content is given twice, as a word and by --file");
  }
  if (!name || *name == "-") return read_all(std::cin, "standard input");
  std::ifstream file(*name, std::ios::binary);
  if (!file) {
    return failure(ErrorCode::invalid,
                   *name + ": " + std::error_code(errno, std::generic_category()).message());
  }
  return read_all(file, *name);
}

std::string guessed_type(const std::string& content) {
  if (api::parse_json(content)) return "application/json";
  return api::is_utf8(content) ? "text/plain; charset=utf-8" : "application/octet-stream";
}

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
  if (read_.size() > kMost + buffer.size()) {
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

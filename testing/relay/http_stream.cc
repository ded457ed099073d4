#include "testing/relay/http_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace once::testing {
namespace {

constexpr std::size_t kLimit = 64U << 20U;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::optional<std::size_t> number(std::string_view text, int base) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop == text.data() || value > kLimit) return std::nullopt;
  return value;
}

}  // namespace

std::string_view header_in(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at + 2 < head.size();) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && same_name(line.substr(0, colon), name)) {
      const std::size_t value = line.find_first_not_of(' ', colon + 1);
      return value == std::string_view::npos ? std::string_view() : line.substr(value);
    }
    at += 2 + line.size();
  }
  return "";
}

std::string bytes_of(const HttpMessage& message) {
  const std::string_view head = message.head;
  std::string bytes(head.substr(0, head.find("\r\n") + 2));
  bool had_length = false;
  for (std::size_t at = bytes.size(); at < head.size();) {
    const std::string_view line = head.substr(at, head.find("\r\n", at) - at);
    at += line.size() + 2;
    if (line.empty()) break;
    const std::string_view name = line.substr(0, line.find(':'));
    const bool framing = same_name(name, "Content-Length") || same_name(name, "Transfer-Encoding");
    had_length |= framing;
    if (!framing) bytes.append(line).append("\r\n");
  }
  // A reply to HEAD has a length and no body; one of 204 has neither.
  if (message.body.empty() && had_length) return message.head;
  if (had_length || !message.body.empty()) {
    bytes.append("Content-Length: ").append(std::to_string(message.body.size())).append("\r\n");
  }
  return bytes.append("\r\n").append(message.body);
}

std::optional<HttpMessage> HttpStream::read_reply(std::string_view method) {
  for (;;) {
    std::optional<HttpMessage> reply = read(method == "HEAD" ? Body::none : Body::as_the_head_says);
    if (!reply || !reply->head.starts_with("HTTP/1.1 1")) return reply;
  }
}

std::optional<HttpMessage> HttpStream::read(Body body) {
  HttpMessage message;
  do {
    const std::optional<std::string> line = take_line();
    if (!line || message.head.size() > kLimit) return std::nullopt;
    message.head += *line;
  } while (!message.head.ends_with("\r\n\r\n"));
  if (body == Body::none) return message;

  if (header_in(message.head, "Transfer-Encoding") == "chunked") {
    for (;;) {
      const std::optional<std::string> line = take_line();
      const std::optional<std::size_t> size = line ? number(*line, 16) : std::nullopt;
      const std::optional<std::string> chunk = size ? take(*size + 2) : std::nullopt;
      if (!chunk || message.body.size() > kLimit) return std::nullopt;
      message.body.append(*chunk, 0, *size);
      if (*size == 0) return message;
    }
  }
  const std::string_view length = header_in(message.head, "Content-Length");
  if (length.empty()) return message;
  const std::optional<std::size_t> size = number(length, 10);
  std::optional<std::string> whole = size ? take(*size) : std::nullopt;
  if (!whole) return std::nullopt;
  message.body = std::move(*whole);
  return message;
}

std::optional<std::string> HttpStream::take_line() {
  std::size_t end = 0;
  while ((end = read_.find("\r\n")) == std::string::npos) {
    if (read_.size() > kLimit || !fill()) return std::nullopt;
  }
  return take(end + 2);
}

std::optional<std::string> HttpStream::take(std::size_t length) {
  while (read_.size() < length) {
    if (!fill()) return std::nullopt;
  }
  std::string taken = read_.substr(0, length);
  read_.erase(0, length);
  return taken;
}

bool HttpStream::fill() {
  std::array<char, 65'536> buffer;
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  read_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

bool HttpStream::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void HttpStream::wait_for_end() {
  std::array<char, 4'096> ignored;
  while (::recv(socket_, ignored.data(), ignored.size(), 0) > 0) {
  }
}

void HttpStream::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

}  // namespace once::testing

#include "http.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <thread>
#include <vector>

namespace event_builder {
namespace {

constexpr std::size_t kMostHead = 16U << 10;
constexpr std::size_t kMostBody = 1U << 20;
constexpr timeval kPatience = {.tv_sec = 10, .tv_usec = 0};  // For a caller that says nothing.

bool read_some(int socket, std::string& text) {
  std::array<char, 4096> some{};
  const ssize_t count = ::recv(socket, some.data(), some.size(), 0);
  if (count <= 0) return false;
  text.append(some.data(), static_cast<std::size_t>(count));
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The lines after the first.
Attributes headers_of(std::string_view head) {
  Attributes headers;
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;) {
    const std::size_t end = head.find("\r\n", at + 2);
    const std::string_view line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      std::string name(line.substr(0, colon));
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      headers[std::move(name)] = trimmed(line.substr(colon + 1));
    }
    at = end;
  }
  return headers;
}

// Nothing if this server does not take it.
std::optional<Request> receive(int socket) {
  std::string text;
  std::size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    if (text.size() > kMostHead || !read_some(socket, text)) return std::nullopt;
  }
  Request request{.headers = headers_of(std::string_view(text).substr(0, end)),
                  .body = text.substr(end + 4)};
  const auto length = request.headers.find("content-length");
  if (!text.starts_with("POST ") || length == request.headers.end()) return std::nullopt;
  std::size_t wanted = 0;
  const char* const last = length->second.c_str() + length->second.size();
  const auto [stopped, wrong] = std::from_chars(length->second.c_str(), last, wanted);
  if (wrong != std::errc() || stopped != last || wanted > kMostBody) return std::nullopt;
  while (request.body.size() < wanted) {
    if (!read_some(socket, request.body)) return std::nullopt;
  }
  request.body.resize(wanted);
  return request;
}

void answer_with(int socket, int status) {
  const std::string text =
      "HTTP/1.1 " + std::to_string(status) + " -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  (void)::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace

once::Result<HttpEndpoint> HttpEndpoint::listen(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (socket < 0 || ::bind(socket, name, length) != 0 || ::listen(socket, 128) != 0 ||
      ::getsockname(socket, name, &length) != 0) {
    if (socket >= 0) ::close(socket);
    return once::failure(once::ErrorCode::unavailable,
                         "port " + std::to_string(port) + " cannot be listened on");
  }
  return HttpEndpoint(socket, ntohs(address.sin_port));
}

void HttpEndpoint::serve(std::size_t threads,
                         const std::function<int(const Request&)>& answer) const {
  const auto serve_one_by_one = [&] {
    for (;;) {
      const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));  // Out of descriptors, maybe.
        continue;
      }
      ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
      const std::optional<Request> request = receive(socket);
      answer_with(socket, request ? answer(*request) : 400);
      ::close(socket);
    }
  };
  std::vector<std::jthread> servers;
  for (std::size_t i = 0; i < threads; ++i) servers.emplace_back(serve_one_by_one);
}

}  // namespace event_builder

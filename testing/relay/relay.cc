#include "testing/relay/relay.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

namespace once::testing {
namespace {

void send_at_once(int socket) {
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

// -1 if there is nobody.
int connect_to(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (port != 0 &&
      ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    send_at_once(socket);
    return socket;
  }
  ::close(socket);
  return -1;
}

std::string bytes_of(const Answer& answer) {
  std::string bytes = "HTTP/1.1 " + answer.status + "\r\n";
  for (const std::string& header : answer.headers) bytes += header + "\r\n";
  return bytes + "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body;
}

void move_date(std::string& head, Duration ahead) {
  const std::string_view date = header_in(head, "Date");
  if (date.empty()) return;
  constexpr const char* kForm = "%a, %d %b %Y %H:%M:%S GMT";
  std::tm parts{};
  if (::strptime(std::string(date).c_str(), kForm, &parts) == nullptr) return;
  const std::time_t moved =
      ::timegm(&parts) + std::chrono::floor<std::chrono::seconds>(ahead).count();
  std::array<char, 64> text{};
  ::gmtime_r(&moved, &parts);
  const std::size_t length = std::strftime(text.data(), text.size(), kForm, &parts);
  head.replace(static_cast<std::size_t>(date.data() - head.data()), date.size(), text.data(),
               length);
}

std::string word(const std::string& text, std::size_t begin) {
  return text.substr(begin, text.find_first_of(" \r", begin) - begin);
}

}  // namespace

// One client's connection, and the one to the server that goes with it.
class Relay::Connection {
 public:
  Connection(Relay& relay, int socket, std::size_t number)
      : relay_(relay), client_(socket), number_(number) {}

  ~Connection() {
    hang_up();
    relay_.forget(client_.socket());
  }

  void run() {
    while (const std::optional<HttpMessage> request = client_.read_request()) {
      request_ = *request;
      Fault fault = relay_.decided(*request, number_);
      if (!std::visit([this](auto& what) { return carry_out(what); }, fault)) return;
    }
  }

 private:
  // Each tells whether the connection goes on.
  bool carry_out(const Pass&) {
    const std::optional<HttpMessage> reply = ask();
    return reply && client_.send(testing::bytes_of(*reply));
  }
  bool carry_out(const Cut&) { return false; }
  bool carry_out(const DropReply&) {
    ask();
    return false;
  }
  bool carry_out(const Repeat& repeat) {
    ask();
    hang_up();
    if (repeat.meanwhile) repeat.meanwhile();
    return carry_out(Pass{});
  }
  bool carry_out(const Stall&) {
    ask();
    return carry_out(StallUnsent{});
  }
  bool carry_out(const StallUnsent&) {
    client_.wait_for_end();
    return false;
  }
  bool carry_out(const Delay& delay) { return relay_.pause(delay.length) && carry_out(Pass{}); }
  bool carry_out(const Redate& redate) {
    std::optional<HttpMessage> reply = ask();
    if (!reply) return false;
    move_date(reply->head, redate.ahead);
    return client_.send(testing::bytes_of(*reply));
  }
  bool carry_out(const Truncate& truncate) {
    if (const std::optional<HttpMessage> reply = ask()) {
      client_.send(testing::bytes_of(*reply).substr(0, truncate.length));
    }
    return false;
  }
  bool carry_out(const Answer& answer) { return client_.send(bytes_of(answer)); }
  bool carry_out(const AnswerInstead& instead) { return ask() && carry_out(instead.answer); }
  bool carry_out(const Edit& edit) {
    request_.body = edit.body;
    std::optional<HttpMessage> reply = ask();
    if (!reply) return false;
    reply->body = edit.reply(std::move(reply->body));
    return client_.send(testing::bytes_of(*reply));
  }

  // The server's reply. A kept connection that the server has closed, because it was started again
  // for instance, is made anew before anything is sent on it.
  std::optional<HttpMessage> ask() {
    char peeked = 0;
    if (server_ && ::recv(server_->socket(), &peeked, 1, MSG_PEEK | MSG_DONTWAIT) == 0) hang_up();
    if (!server_) {
      const int socket = connect_to(relay_.server_port_);
      if (socket < 0) return std::nullopt;
      server_ = std::make_unique<HttpStream>(socket);
      if (!relay_.watch(socket)) return std::nullopt;
    }
    std::optional<HttpMessage> reply;
    if (server_->send(testing::bytes_of(request_))) {
      reply = server_->read_reply(word(request_.head, 0));
    }
    if (!reply) hang_up();
    return reply;
  }

  void hang_up() {
    if (server_) relay_.forget(server_->socket());
    server_.reset();
  }

  Relay& relay_;
  HttpStream client_;
  const std::size_t number_;
  std::unique_ptr<HttpStream> server_;
  HttpMessage request_;
};

Relay::Relay(std::uint16_t server_port, Decide decide)
    : server_port_(server_port), decide_(std::move(decide)) {
  thread_ = std::thread([this] { listen(); });
}

Relay::~Relay() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  ended_.notify_all();
  ::shutdown(listener_.socket, SHUT_RDWR);
  thread_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_.socket);
}

void Relay::decide(Decide decide) {
  const std::lock_guard lock(deciding_);
  decide_ = std::move(decide);
}

std::size_t Relay::requests(const std::string& operation) const {
  const std::lock_guard lock(mutex_);
  if (operation.empty()) return count_;
  const auto of = by_operation_.find(operation);
  return of == by_operation_.end() ? 0 : of->second;
}

std::size_t Relay::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void Relay::listen() {
  for (;;) {
    const int socket = ::accept4(listener_.socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    send_at_once(socket);
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = connections_++;
    }
    threads_.emplace_back([this, socket, number] { serve(socket, number); });
  }
}

void Relay::serve(int socket, std::size_t number) {
  Connection connection(*this, socket, number);
  if (watch(socket)) connection.run();
}

Fault Relay::decided(const HttpMessage& request, std::size_t connection) {
  const std::string target(header_in(request.head, "X-Amz-Target"));
  const std::size_t dot = target.rfind('.');
  RelayedRequest seen{.method = word(request.head, 0),
                      .path = word(request.head, request.head.find(' ') + 1),
                      .operation = dot == std::string::npos ? "" : target.substr(dot + 1),
                      .head = request.head,
                      .body = request.body,
                      .number = 0,
                      .connection = connection};
  const std::lock_guard deciding(deciding_);
  {
    const std::lock_guard lock(mutex_);
    seen.number = count_++;
    ++by_operation_[seen.operation];
  }
  return decide_ ? decide_(seen) : Pass{};
}

bool Relay::pause(Duration length) {
  std::unique_lock lock(mutex_);
  return !ended_.wait_for(lock, length, [this] { return ending_; });
}

bool Relay::watch(int socket) {
  const std::lock_guard lock(mutex_);
  if (!ending_) sockets_.push_back(socket);
  return !ending_;
}

void Relay::forget(int socket) {
  const std::lock_guard lock(mutex_);
  sockets_.remove(socket);
}

}  // namespace once::testing

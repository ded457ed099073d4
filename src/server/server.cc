#include "server/server.h"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <vector>

#include "server/io_thread.h"
#include "server/session.h"
#include "wire/problem.h"

namespace once::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kTurnedAway = 64;  // This many above the limit still get an answer.

std::size_t thread_count(const Settings& settings) {
  return settings.threads > 0 ? settings.threads
                              : std::max(1U, std::thread::hardware_concurrency());
}

// `host:port`, or `[v6]:port`.
Result<tcp::endpoint> endpoint_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const auto bad = failure(ErrorCode::invalid, "not host:port: " + address);
  if (colon == std::string::npos) return bad;
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  const std::string digits = address.substr(colon + 1);
  const bool number = !digits.empty() && digits.size() <= 5 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
  error_code error;
  const auto ip = asio::ip::make_address(host, error);
  if (error || !number || std::stoi(digits) > 65'535) return bad;
  return tcp::endpoint(ip, static_cast<unsigned short>(std::stoi(digits)));
}

std::string url_of(const tcp::endpoint& endpoint) {
  const std::string ip = endpoint.address().to_string();
  const std::string host = endpoint.address().is_v6() ? "[" + ip + "]" : ip;
  return "http://" + host + ":" + std::to_string(endpoint.port());
}

}  // namespace

class Server::Impl {
 public:
  Impl(const Settings& settings, Handler& handler, Clock& clock)
      : settings_(settings),
        judgement_(settings.browsers),
        shared_{settings_, handler, clock, bodies_, judgement_} {
    for (std::size_t i = 0; i < thread_count(settings_); ++i) {
      threads_.push_back(std::make_unique<IoThread>());
    }
    acceptor_.emplace(threads_[0]->context());
  }

  ~Impl() { stop(); }

  void stop() {
    stop_accepting();
    for (const auto& thread : threads_) thread->stop();
  }

  Result<std::string> listen(const std::string& address) {
    const Result<tcp::endpoint> endpoint = endpoint_of(address);
    if (!endpoint) return std::unexpected(endpoint.error());
    error_code error;
    acceptor_->open(endpoint->protocol(), error);
    if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_->bind(*endpoint, error);
    if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return failure(ErrorCode::unavailable,
                     "cannot listen on " + address + ": " + error.message());
    }
    const tcp::endpoint local = acceptor_->local_endpoint();
    judgement_.listens_on(local.address().to_string());
    std::string url = url_of(local);
    threads_[0]->post([this] { accept(); });
    return url;
  }

  void drain(Duration patience) {
    stop_accepting();
    for (auto& thread : threads_) thread->post([&thread] { thread->finish_all(); });
    const auto until = std::chrono::steady_clock::now() + patience;
    while (connections() > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::size_t connections() const {
    std::size_t count = 0;
    for (const auto& thread : threads_) count += thread->count();
    return count;
  }

  const Judgement& judgement() const { return judgement_; }

 private:
  // A connection is accepted into the thread that will serve it.
  void accept() {
    IoThread& thread = *threads_[next_++ % threads_.size()];
    acceptor_->async_accept(thread.context(),
                            [this, &thread](const error_code& error, tcp::socket socket) {
                              if (!acceptor_->is_open()) return;
                              if (!error) {
                                admit(thread, std::move(socket));
                                return accept();
                              }
                              retry_accept();
                            });
  }

  // Usually there are no free descriptors: try again a little later.
  void retry_accept() {
    auto timer =
        std::make_shared<asio::steady_timer>(threads_[0]->context(), std::chrono::milliseconds(50));
    timer->async_wait([this, timer](const error_code& error) {
      if (!error && acceptor_->is_open()) accept();
    });
  }

  void admit(IoThread& thread, tcp::socket socket) {
    const std::size_t open = connections();
    if (open >= settings_.max_connections + kTurnedAway) return;  // Closed without an answer.
    const bool admitted = open < settings_.max_connections;
    auto session = Session::make(thread, std::move(socket), shared_);
    thread.post([&thread, session, admitted] {
      thread.add(session);
      admitted ? session->start() : session->turn_away();
    });
  }

  void stop_accepting() {
    if (!accepting_.exchange(false)) return;
    std::atomic<bool> closed = false;
    threads_[0]->post([this, &closed] {
      error_code ignored;
      acceptor_->close(ignored);
      closed = true;
      closed.notify_one();
    });
    closed.wait(false);
  }

  const Settings settings_;
  std::atomic<std::size_t> bodies_ = 0;
  Judgement judgement_;
  const Shared shared_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::optional<tcp::acceptor> acceptor_;  // On the first thread.
  std::size_t next_ = 0;
  std::atomic<bool> accepting_ = true;
};

Server::Server(const Settings& settings, Handler& handler, Clock& clock)
    : impl_(std::make_unique<Impl>(settings, handler, clock)) {}
Server::~Server() = default;

Result<std::string> Server::listen(const std::string& address) { return impl_->listen(address); }
void Server::stop() { impl_->stop(); }
void Server::drain(Duration patience) { impl_->drain(patience); }
std::size_t Server::connections() const { return impl_->connections(); }
const Judgement& Server::judgement() const { return impl_->judgement(); }

}  // namespace once::server

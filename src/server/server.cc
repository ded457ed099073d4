#include "server/server.h"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <vector>

#include "base/shared_value.h"
#include "server/io_thread.h"
#include "server/session.h"
#include "server/stream.h"
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

std::size_t limit_of(const asio::ip::address& address, const Settings& settings) {
  const std::size_t all = settings.max_connections;
  if (settings.max_connections_per_address > 0) return settings.max_connections_per_address;
  return address.is_loopback() ? all : all - all / 10;
}

std::string_view in_words(ConnectionRefusal refusal) {
  return refusal == ConnectionRefusal::address ? "too many connections from this address are open"
                                               : "too many connections are open";
}

std::string url_of(std::string_view scheme, const tcp::endpoint& endpoint) {
  const std::string ip = endpoint.address().to_string();
  const std::string host = endpoint.address().is_v6() ? "[" + ip + "]" : ip;
  return std::string(scheme) + "://" + host + ":" + std::to_string(endpoint.port());
}

}  // namespace

class Server::Impl {
 public:
  Impl(const Settings& settings, Handler& handler, Clock& clock)
      : settings_(settings),
        judgement_(settings.browsers),
        handler_(handler),
        clock_(clock),
        tls_(settings.tls) {
    for (std::size_t i = 0; i < thread_count(settings_); ++i) {
      threads_.push_back(std::make_unique<IoThread>(settings_));
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
    const std::string_view scheme = settings_.tls != nullptr ? "https" : "http";
    judgement_.listens_on(local.address().to_string(), scheme);
    std::string url = url_of(scheme, local);
    threads_[0]->post([this] { accept(); });
    return url;
  }

  Duration idle_for() const {
    auto last = std::chrono::steady_clock::time_point::min();
    for (const auto& thread : threads_) last = std::max(last, thread->last_active());
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - last);
  }

  void drain(Duration patience) {
    stop_accepting();
    for (auto& thread : threads_) thread->post([&thread] { thread->finish_all(); });
    const auto until = std::chrono::steady_clock::now() + patience;
    while (connections() > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  void apply(const Settings& fresh) {
    if ((fresh.tls == nullptr) == (settings_.tls == nullptr)) tls_.store(fresh.tls);
    judgement_.set_rules(fresh.browsers);
    budgets_.bodies.set(fresh.max_bodies_bytes, fresh.namespace_share);
    budgets_.answers.set(fresh.max_unsent_bytes, fresh.namespace_share);
    for (auto& thread : threads_) {
      thread->post([&thread, fresh] { thread->set_settings(fresh); });
    }
  }

  std::size_t connections() const {
    std::size_t count = 0;
    for (const auto& thread : threads_) count += thread->count();
    return count;
  }

  const ConnectionSeats& seats() const { return seats_; }
  std::optional<Time> certificate_expires() const {
    const auto tls = tls_.load();
    return tls != nullptr ? std::optional(tls->expires()) : std::nullopt;
  }

  const Judgement& judgement() const { return judgement_; }
  const Budgets& budgets() const { return budgets_; }

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

  // On the first thread.
  void admit(IoThread& thread, tcp::socket socket) {
    error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return;  // It is gone already.
    std::optional<ConnectionRefusal> refusal = refusal_of(peer.address());
    if (refusal) {
      seats_.refused(*refusal);
      // Closed without an answer.
      if (connections() >= seats_.all() + kTurnedAway) return;
    }
    ConnectionSeats::Seat seat;  // Who is turned away takes none.
    if (!refusal) seat = seats_.enter(peer.address());
    const Shared shared{thread.settings(), handler_, clock_, budgets_, judgement_, seats_};
    auto session = Session::make(thread, stream_of(std::move(socket)), shared, std::move(seat));
    thread.post([&thread, session, refusal] {
      thread.add(session);
      refusal ? session->turn_away(in_words(*refusal)) : session->start();
    });
  }

  std::optional<ConnectionRefusal> refusal_of(const asio::ip::address& address) const {
    const Settings& settings = threads_[0]->settings();
    if (seats_.all() >= settings.max_connections) return ConnectionRefusal::all;
    if (seats_.from(address) < limit_of(address, settings)) return std::nullopt;
    return ConnectionRefusal::address;
  }

  std::shared_ptr<Stream> stream_of(tcp::socket socket) const {
    const auto tls = tls_.load();
    return tls != nullptr ? tls_stream(std::move(socket), tls->session())
                          : plain_stream(std::move(socket));
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

  const Settings settings_;  // As they were at the start. Each thread has its own.
  Budgets budgets_{{settings_.max_bodies_bytes, settings_.namespace_share, &api::Tenant::bodies},
                   {settings_.max_unsent_bytes, settings_.namespace_share, &api::Tenant::unsent}};
  Judgement judgement_;
  Handler& handler_;
  Clock& clock_;
  ConnectionSeats seats_;
  SharedValue<net::TlsServerContext> tls_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::optional<tcp::acceptor> acceptor_;  // On the first thread.
  std::size_t next_ = 0;
  std::atomic<bool> accepting_ = true;
};

Duration Server::idle_for() const { return impl_->idle_for(); }

Server::Server(const Settings& settings, Handler& handler, Clock& clock)
    : impl_(std::make_unique<Impl>(settings, handler, clock)) {}
Server::~Server() = default;

Result<std::string> Server::listen(const std::string& address) { return impl_->listen(address); }
void Server::stop() { impl_->stop(); }
void Server::drain(Duration patience) { impl_->drain(patience); }
void Server::apply(const Settings& fresh) { impl_->apply(fresh); }
std::uint64_t Server::refused_connections(ConnectionRefusal why) const {
  return impl_->seats().refusals(why);
}
std::optional<Time> Server::certificate_expires() const { return impl_->certificate_expires(); }
std::size_t Server::connections() const { return impl_->connections(); }
const Budgets& Server::budgets() const { return impl_->budgets(); }
const Judgement& Server::judgement() const { return impl_->judgement(); }

}  // namespace once::server

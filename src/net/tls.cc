#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <utility>

namespace once::net {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// The session reads and writes memory, and this class moves that memory through the socket:
// OpenSSL's own writing would raise SIGPIPE. The thread's queue of errors is cleared before each
// call, because SSL_get_error() would take older errors for this session's.
class TlsChannel final : public Channel {
 public:
  TlsChannel(Socket socket, std::unique_ptr<SSL, Free> session)
      : socket_(std::move(socket)), session_(std::move(session)) {
    SSL_set_bio(session_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(session_.get());
  }

  int descriptor() const override { return socket_.descriptor(); }
  short wants() const override { return pending_.empty() ? short{0} : short{POLLOUT}; }

  // What is accepted here may be on its way already: it counts as sent.
  std::optional<std::size_t> send(std::string_view bytes) override {
    if (!flush()) return std::nullopt;
    if (!pending_.empty()) return 0;
    constexpr std::size_t kMost = 64U << 10;
    const auto length = static_cast<int>(std::min(bytes.size(), kMost));
    ERR_clear_error();
    const int taken = SSL_write(session_.get(), bytes.data(), length);
    if (taken <= 0) return waits(taken) ? std::optional<std::size_t>(0) : std::nullopt;
    if (!flush()) return std::nullopt;
    return static_cast<std::size_t>(taken);
  }

  std::optional<std::size_t> receive(std::span<char> room) override {
    if (!flush() || !fetch()) return std::nullopt;
    std::size_t came = 0;
    while (came < room.size()) {
      ERR_clear_error();
      const int some = SSL_read(session_.get(), &room[came], static_cast<int>(room.size() - came));
      if (some <= 0) {
        if (!waits(some) && came == 0) return std::nullopt;
        break;
      }
      came += static_cast<std::size_t>(some);
    }
    return came;
  }

  bool was_closed() const override {
    return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }

  enum class Shaken : std::uint8_t { done, waits, refused };
  Shaken shake() {
    if (!flush() || !fetch()) return Shaken::refused;
    ERR_clear_error();
    const int done = SSL_do_handshake(session_.get());
    const bool sent = flush();
    if (done == 1 && sent) return Shaken::done;
    return sent && waits(done) ? Shaken::waits : Shaken::refused;
  }

  long verdict() const { return SSL_get_verify_result(session_.get()); }

 private:
  bool waits(int result) const {
    const int error = SSL_get_error(session_.get(), result);
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  }

  // False if the socket is broken.
  bool flush() {
    BIO* const out = SSL_get_wbio(session_.get());
    std::array<char, 16U << 10> room{};
    for (int some = 0; (some = BIO_read(out, room.data(), room.size())) > 0;) {
      pending_.append(room.data(), static_cast<std::size_t>(some));
    }
    while (!pending_.empty()) {
      const auto sent = socket_.send(pending_);
      if (!sent) return false;
      if (*sent == 0) break;
      pending_.erase(0, *sent);
    }
    return true;
  }

  bool fetch() {
    std::array<char, 16U << 10> room{};
    const auto came = socket_.receive(room);
    if (!came) return BIO_pending(SSL_get_rbio(session_.get())) > 0;
    if (*came > 0) BIO_write(SSL_get_rbio(session_.get()), room.data(), static_cast<int>(*came));
    return true;
  }

  Socket socket_;
  const std::unique_ptr<SSL, Free> session_;
  std::string pending_;  // Encrypted, and not yet taken by the socket.
};

class Context final : public TlsContext {
 public:
  explicit Context(std::unique_ptr<SSL_CTX, Free> context) : context_(std::move(context)) {}

  Result<std::unique_ptr<Channel>> wrap(Socket socket, const std::string& host,
                                        const Until& until) override {
    std::unique_ptr<SSL, Free> session(SSL_new(context_.get()));
    const bool named =
        is_address(host)
            ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str()) == 1
            : SSL_set1_host(session.get(), host.c_str()) == 1 &&
                  SSL_set_tlsext_host_name(session.get(), host.c_str()) == 1;
    if (!named) return failure(ErrorCode::invalid, "not a host's name: " + host);
    auto channel = std::make_unique<TlsChannel>(std::move(socket), std::move(session));
    for (;;) {
      const TlsChannel::Shaken shaken = channel->shake();
      if (shaken == TlsChannel::Shaken::done) return channel;
      if (shaken == TlsChannel::Shaken::refused) return std::unexpected(refusal(*channel));
      const auto events = static_cast<short>(POLLIN | channel->wants());
      if (!wait_for(channel->descriptor(), events, until)) {
        return failure(ErrorCode::unavailable, "no TLS answer in time");
      }
    }
  }

 private:
  static Error refusal(const TlsChannel& channel) {
    const long verdict = channel.verdict();
    if (verdict == X509_V_OK) {
      return {ErrorCode::unavailable, "the server does not speak TLS, or refuses ours"};
    }
    std::string message = "the server's certificate is not to be trusted: ";
    return {ErrorCode::denied, message.append(X509_verify_cert_error_string(verdict))};
  }

  const std::unique_ptr<SSL_CTX, Free> context_;
};

}  // namespace

Result<std::unique_ptr<TlsContext>> make_tls_context(const std::string& ca_file) {
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const bool trusted = ca_file.empty()
                           ? SSL_CTX_set_default_verify_paths(context.get()) == 1
                           : SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) == 1;
  ERR_clear_error();
  if (!trusted) return failure(ErrorCode::invalid, "no certificates in " + ca_file);
  return std::make_unique<Context>(std::move(context));
}

}  // namespace once::net

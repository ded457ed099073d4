#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/encoding.h"

namespace once::net {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using OwnedContext = std::unique_ptr<SSL_CTX, FreeContext>;
using SharedContext = std::shared_ptr<SSL_CTX>;

// What a server takes: with forward secrecy and authenticated encryption, as all of TLS 1.3 are.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Empty if it cannot be told.
std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (certificate == nullptr || X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) {
    return "";
  }
  return hex_encode({reinterpret_cast<const char*>(digest.data()), size});
}

Time time_of(const ASN1_TIME* when) {
  std::tm parts{};
  if (when == nullptr || ASN1_TIME_to_tm(when, &parts) != 1) return {};
  return std::chrono::floor<Duration>(std::chrono::system_clock::from_time_t(::timegm(&parts)));
}

// The socket of a client, inside TLS.
class TlsChannel final : public Channel {
 public:
  TlsChannel(Socket socket, SSL* session)
      : socket_(std::move(socket)), session_(session, TlsSession::Side::client) {}

  int descriptor() const override { return socket_.descriptor(); }
  short wants() const override { return pending_.empty() ? short{0} : short{POLLOUT}; }

  // What is accepted here may be on its way already: it counts as sent.
  std::optional<std::size_t> send(std::string_view bytes) override {
    if (!flush()) return std::nullopt;
    if (!pending_.empty()) return 0;
    const auto taken = session_.write(bytes);
    if (!taken || !flush()) return std::nullopt;
    return taken;
  }

  std::optional<std::size_t> receive(std::span<char> room) override {
    if (!flush() || !fetch()) return std::nullopt;
    return session_.read(room);
  }

  bool was_closed() const override { return session_.was_ended(); }
  bool is_idle() override { return flush() && fetch() && session_.is_idle(); }
  std::string refusal() const override { return session_.refusal(); }

  TlsSession::Handshake shake() {
    if (!flush() || !fetch()) return TlsSession::Handshake::failed;
    const TlsSession::Handshake shaken = session_.handshake();
    return flush() ? shaken : TlsSession::Handshake::failed;
  }

  std::string distrust() const { return session_.distrust(); }

 private:
  // False if the socket is broken.
  bool flush() {
    session_.take_out(pending_);
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
    if (!came) return session_.has_input();
    session_.take_in({room.data(), *came});
    return true;
  }

  Socket socket_;
  TlsSession session_;
  std::string pending_;  // Encrypted, and not yet taken by the socket.
};

Error refusal_of(const TlsChannel& channel) {
  const std::string distrust = channel.distrust();
  if (!distrust.empty()) {
    return {ErrorCode::denied, "the server's certificate is not to be trusted: " + distrust};
  }
  const std::string refusal = channel.refusal();
  if (!refusal.empty()) return {ErrorCode::unavailable, "the server refused TLS: " + refusal};
  return {ErrorCode::unavailable, "the server does not speak TLS, or refuses ours"};
}

class ClientContext final : public TlsContext {
 public:
  enum class Names : std::uint8_t { checked, ignored };
  ClientContext(OwnedContext context, Names names) : names_(names), context_(std::move(context)) {}

  Result<std::unique_ptr<Channel>> wrap(Socket socket, const std::string& host,
                                        const Until& until) override {
    SSL* const session = SSL_new(context_.load().get());
    auto channel = std::make_unique<TlsChannel>(std::move(socket), session);
    if (!expect(*session, host)) return failure(ErrorCode::invalid, "not a host's name: " + host);
    for (;;) {
      const TlsSession::Handshake shaken = channel->shake();
      if (shaken == TlsSession::Handshake::done) return channel;
      if (shaken == TlsSession::Handshake::failed) return std::unexpected(refusal_of(*channel));
      const auto events = static_cast<short>(POLLIN | channel->wants());
      if (!wait_for(channel->descriptor(), events, until)) {
        return failure(ErrorCode::unavailable, "no TLS answer in time");
      }
    }
  }

  void adopt(const TlsContext& fresh) override {
    context_ = dynamic_cast<const ClientContext&>(fresh).context_.load();
  }

 private:
  bool expect(SSL& session, const std::string& host) const {
    const bool is_name = !is_address(host);
    if (is_name && SSL_set_tlsext_host_name(&session, host.c_str()) != 1) return false;
    if (names_ == Names::ignored) return true;
    return is_name ? SSL_set1_host(&session, host.c_str()) == 1
                   : X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&session), host.c_str()) == 1;
  }

  const Names names_;
  std::atomic<SharedContext> context_;
};

std::unexpected<Error> unusable(const std::string& file, std::string_view why) {
  ERR_clear_error();
  return failure(ErrorCode::invalid, file + ": " + std::string(why));
}

// Nobody is asked for a passphrase.
int no_passphrase(char*, int, int, void*) { return 0; }

Result<void> show(SSL_CTX& context, const TlsFiles& files) {
  if (SSL_CTX_use_certificate_chain_file(&context, files.certificate.c_str()) != 1) {
    return unusable(files.certificate, "no certificate in PEM form can be read from it");
  }
  const std::string& key = files.key.empty() ? files.certificate : files.key;
  SSL_CTX_set_default_passwd_cb(&context, no_passphrase);
  if (SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    const unsigned long why = ERR_peek_error();
    const bool mismatched = ERR_GET_LIB(why) == ERR_LIB_X509;
    return unusable(key, mismatched ? "this is the key of another certificate"
                                    : "no private key without a passphrase can be read from it");
  }
  if (SSL_CTX_check_private_key(&context) != 1) {
    return unusable(key, "this is the key of another certificate");
  }
  return {};
}

Result<void> trust(SSL_CTX& context, const std::string& authorities) {
  if (SSL_CTX_load_verify_file(&context, authorities.c_str()) == 1) return {};
  return unusable(authorities, "no certificates of authorities can be read from it");
}

OwnedContext client_context() {
  OwnedContext context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

// Of what a context is asked for while it verifies.
int pins_index() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr, nullptr, nullptr, [](void*, void* pins, CRYPTO_EX_DATA*, int, long, void*) {
        delete static_cast<std::vector<std::string>*>(pins);
      });
  return index;
}

// In place of building a chain: the certificate itself was named.
int is_pinned(X509_STORE_CTX* verified, void*) {
  const auto* const session =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(verified, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* const pins = static_cast<const std::vector<std::string>*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), pins_index()));
  const std::string shown = fingerprint_of(X509_STORE_CTX_get0_cert(verified));
  const bool known = !shown.empty() && std::ranges::find(*pins, shown) != pins->end();
  X509_STORE_CTX_set_error(verified, known ? X509_V_OK : X509_V_ERR_CERT_UNTRUSTED);
  return known ? 1 : 0;
}

// Of the protocols that a client offers; one that offers none or others goes on without.
int choose_http_1_1(SSL*, const unsigned char** chosen, unsigned char* length,
                    const unsigned char* offered, unsigned int size, void*) {
  constexpr std::string_view kOurs = "http/1.1";
  for (unsigned int at = 0; at < size; at += offered[at] + 1U) {
    const std::string_view one(reinterpret_cast<const char*>(offered + at + 1), offered[at]);
    if (one != kOurs) continue;
    *chosen = offered + at + 1;
    *length = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

class ServerContext final : public TlsServerContext {
 public:
  explicit ServerContext(OwnedContext context)
      : context_(std::move(context)),
        fingerprint_(fingerprint_of(SSL_CTX_get0_certificate(context_.get()))),
        expires_(time_of(X509_get0_notAfter(SSL_CTX_get0_certificate(context_.get())))) {}

  std::unique_ptr<TlsSession> session() const override {
    return std::make_unique<TlsSession>(SSL_new(context_.get()), TlsSession::Side::server);
  }
  const std::string& fingerprint() const override { return fingerprint_; }
  Time expires() const override { return expires_; }

 private:
  const OwnedContext context_;
  const std::string fingerprint_;
  const Time expires_;
};

}  // namespace

Result<std::unique_ptr<TlsContext>> make_tls_context(const TlsFiles& files) {
  OwnedContext context = client_context();
  const bool by_machine = files.authorities.empty();
  if (by_machine && SSL_CTX_set_default_verify_paths(context.get()) != 1) {
    return unusable("SSL_CERT_FILE", "no certificates of authorities can be read from it");
  }
  Result<void> ok = by_machine ? Result<void>() : trust(*context, files.authorities);
  if (ok && !files.certificate.empty()) ok = show(*context, files);
  ERR_clear_error();
  if (!ok) return std::unexpected(std::move(ok.error()));
  return std::make_unique<ClientContext>(std::move(context), ClientContext::Names::checked);
}

Result<std::unique_ptr<TlsContext>> make_pinned_tls_context(std::vector<std::string> fingerprints,
                                                            const TlsFiles& own) {
  OwnedContext context = client_context();
  auto pins = std::make_unique<std::vector<std::string>>(std::move(fingerprints));
  SSL_CTX_set_ex_data(context.get(), pins_index(), pins.release());
  SSL_CTX_set_cert_verify_callback(context.get(), is_pinned, nullptr);
  Result<void> ok = own.certificate.empty() ? Result<void>() : show(*context, own);
  ERR_clear_error();
  if (!ok) return std::unexpected(std::move(ok.error()));
  return std::make_unique<ClientContext>(std::move(context), ClientContext::Names::ignored);
}

Result<std::shared_ptr<const TlsServerContext>> make_tls_server(const TlsFiles& files) {
  OwnedContext context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), kCiphers);
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_http_1_1, nullptr);
  Result<void> ok = show(*context, files);
  if (ok && !files.authorities.empty()) {
    ok = trust(*context, files.authorities);
    SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(files.authorities.c_str()));
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // Who resumes a session would not be asked for its certificate again.
    SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context.get(), 0);
  }
  ERR_clear_error();
  if (!ok) return std::unexpected(std::move(ok.error()));
  return std::make_shared<const ServerContext>(std::move(context));
}

}  // namespace once::net

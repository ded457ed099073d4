// Sockets inside TLS, and the certificates that the two sides show and trust. TLS 1.2 and up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/channel.h"
#include "net/tls_session.h"
#include "once/time.h"

namespace once::net {

// Names of PEM files.
struct TlsFiles {
  std::string certificate;  // Ours, with those between it and its authority. Empty: we have none.
  std::string key;          // Of it; empty if it is in the same file.
  std::string authorities;  // Whom to trust.

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// For clients: whom to trust, and who we are. Safe to share between threads.
class TlsContext {
 public:
  virtual ~TlsContext() = default;

  // Performs the handshake. `unavailable` if that takes too long; `denied` if the certificate is
  // not to be trusted, or does not name `host`.
  virtual Result<std::unique_ptr<Channel>> wrap(Socket socket, const std::string& host,
                                                const Until& until) = 0;

  // Becomes what `fresh` is, for handshakes from now on.
  virtual void adopt(const TlsContext& fresh) = 0;
};

// `invalid`, naming the file that cannot be used. Without authorities: the machine's own, or those
// of SSL_CERT_FILE and SSL_CERT_DIR.
Result<std::unique_ptr<TlsContext>> make_tls_context(const TlsFiles& files);

// Trusts exactly the servers whose certificate has one of these fingerprints, whatever they are
// called. Of `own`, only certificate and key count.
Result<std::unique_ptr<TlsContext>> make_pinned_tls_context(std::vector<std::string> fingerprints,
                                                            const TlsFiles& own);

// For servers. Never changes; safe to share between threads.
class TlsServerContext {
 public:
  virtual ~TlsServerContext() = default;
  virtual std::unique_ptr<TlsSession> session() const = 0;

  // SHA-256 of the certificate, as hex.
  virtual const std::string& fingerprint() const = 0;
  virtual Time expires() const = 0;  // When the certificate ends.
};

// With authorities, a client is refused that has no certificate of one of them. `invalid`, naming
// the file that cannot be used.
Result<std::shared_ptr<const TlsServerContext>> make_tls_server(const TlsFiles& files);

}  // namespace once::net

// A socket inside TLS. The server's certificate is verified, and that it names the host we meant.
#pragma once

#include <memory>
#include <string>

#include "net/channel.h"

namespace once::net {

// The authorities to trust, read once. Safe to share between threads.
class TlsContext {
 public:
  virtual ~TlsContext() = default;

  // Performs the handshake. `unavailable` if that takes too long; `denied` if the certificate is
  // not to be trusted.
  virtual Result<std::unique_ptr<Channel>> wrap(Socket socket, const std::string& host,
                                                const Until& until) = 0;
};

// `invalid` if the file is missing or has no certificates. Empty: the machine's own authorities, or
// those of SSL_CERT_FILE and SSL_CERT_DIR.
Result<std::unique_ptr<TlsContext>> make_tls_context(const std::string& ca_file);

}  // namespace once::net

// A socket inside TLS. The server's certificate is verified, and that it is the server's we meant.
#pragma once

#include <memory>
#include <string>

#include "stores/redis/channel.h"

namespace once::redis {

// Whom to trust, read once. Safe to share between threads.
class TlsContext {
 public:
  virtual ~TlsContext() = default;

  // Shakes hands. `unavailable` if that is not done by the deadline; `denied` if the certificate is
  // not to be trusted.
  virtual Result<std::unique_ptr<Channel>> wrap(Socket socket, const std::string& host,
                                                Deadline deadline) = 0;
};

// `invalid` if the file is not there or has no certificates. Without one: whom the machine trusts.
Result<std::unique_ptr<TlsContext>> make_tls_context(const std::string& ca_file);

}  // namespace once::redis

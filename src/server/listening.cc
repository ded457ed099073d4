#include "server/listening.h"

namespace once::server {

bool is_loopback(const std::string& listen) {
  return listen.starts_with("127.") || listen.starts_with("[::1]") ||
         listen.starts_with("localhost:");
}

Result<std::shared_ptr<const net::TlsServerContext>> read_certificate(const Listening& listening) {
  const net::TlsFiles& files = listening.tls;
  if (!files.certificate.empty()) return net::make_tls_server(files);
  if (!files.key.empty() || !files.authorities.empty()) {
    return failure(ErrorCode::invalid, "--tls-key and --tls-client-ca need --tls-cert");
  }
  if (is_loopback(listening.address) || listening.plain_http) return nullptr;
  return failure(ErrorCode::invalid,
                 "refusing to listen on " + listening.address +
                     " without TLS, because everything could be read on the way; give --tls-cert "
                     "and --tls-key, or --plain-http if something before it ends TLS");
}

Result<std::shared_ptr<const net::TlsServerContext>> read_certificate_again(
    const Listening& listening, const net::TlsServerContext* now) {
  auto fresh = read_certificate(listening);
  if (!fresh || (*fresh == nullptr) == (now == nullptr)) return fresh;
  return failure(ErrorCode::invalid, "--tls-cert counts at the start only where it is new or gone");
}

}  // namespace once::server

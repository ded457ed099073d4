#include "queues/rabbitmq/tls.h"

#include <amqp_ssl_socket.h>
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <array>

namespace once::rabbitmq {
namespace {

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

bool expect(SSL_CTX* context, const std::string& host) {
  X509_VERIFY_PARAM* const wanted = SSL_CTX_get0_param(context);
  return is_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1
                          : X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()) == 1;
}

bool trust(SSL_CTX* context, const std::string& ca_file) {
  const bool trusted = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                       : SSL_CTX_load_verify_file(context, ca_file.c_str()) == 1;
  ERR_clear_error();
  return trusted;
}

}  // namespace

Result<amqp_socket_t*> tls_socket(amqp_connection_state_t state, const std::string& host,
                                  const std::string& ca_file) {
  amqp_socket_t* const socket = amqp_ssl_socket_new(state);
  if (socket == nullptr) return failure(ErrorCode::unavailable, "rabbitmq: no socket");
  auto* const context = static_cast<SSL_CTX*>(amqp_ssl_socket_get_context(socket));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  amqp_ssl_socket_set_verify_peer(socket, 1);
  // librabbitmq compares names only, and no addresses: OpenSSL does both.
  amqp_ssl_socket_set_verify_hostname(socket, 0);
  if (!expect(context, host)) {
    return failure(ErrorCode::invalid, "rabbitmq: not a host's name: " + host);
  }
  if (!trust(context, ca_file)) {
    return failure(ErrorCode::invalid, "rabbitmq: no certificates in " + ca_file);
  }
  return socket;
}

bool is_untrusted(int status) {
  return status == AMQP_STATUS_SSL_PEER_VERIFY_FAILED ||
         status == AMQP_STATUS_SSL_HOSTNAME_VERIFY_FAILED;
}

}  // namespace once::rabbitmq

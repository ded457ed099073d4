#include <utility>

#include "stores/redis/node.h"
#include "stores/redis/tls.h"

namespace once::redis {
namespace {

class SocketDialler final : public Dialler {
 public:
  explicit SocketDialler(std::unique_ptr<TlsContext> tls) : tls_(std::move(tls)) {}

  Result<std::unique_ptr<Channel>> dial(const Endpoint& endpoint, Deadline deadline) override {
    Result<Socket> socket = connect_to(endpoint, deadline);
    if (!socket) return std::unexpected(std::move(socket.error()));
    if (tls_) return tls_->wrap(std::move(*socket), endpoint.host, deadline);
    return plain_channel(std::move(*socket));
  }

 private:
  const std::unique_ptr<TlsContext> tls_;  // Null without TLS.
};

}  // namespace

Result<std::unique_ptr<Dialler>> make_dialler(const RedisOptions& options) {
  std::unique_ptr<TlsContext> tls;
  if (options.tls) {
    Result<std::unique_ptr<TlsContext>> made = make_tls_context(options.ca_file);
    if (!made) return std::unexpected(std::move(made.error()));
    tls = std::move(*made);
  }
  return std::make_unique<SocketDialler>(std::move(tls));
}

}  // namespace once::redis

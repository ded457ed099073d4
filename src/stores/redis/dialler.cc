#include "stores/redis/node.h"

namespace once::redis {
namespace {

class PlainDialler final : public Dialler {
 public:
  Result<std::unique_ptr<Channel>> dial(const Endpoint& endpoint, Deadline deadline) override {
    Result<Socket> socket = connect_to(endpoint, deadline);
    if (!socket) return std::unexpected(std::move(socket.error()));
    return plain_channel(std::move(*socket));
  }
};

}  // namespace

Result<std::unique_ptr<Dialler>> make_dialler(const RedisOptions& options) {
  if (options.tls) return failure(ErrorCode::unsupported, "redis: no TLS yet");
  return std::make_unique<PlainDialler>();
}

}  // namespace once::redis

// Metrics and health of a proxy or worker. On a port of its own: every path of a proxy's own port
// belongs to the upstream.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "metrics/registry.h"
#include "server/handler.h"
#include "server/server.h"

namespace once::server {

class MetricsPage final : public Handler {
 public:
  explicit MetricsPage(const metrics::Registry& registry) : registry_(registry) {}

  // GET and HEAD of /metrics and /healthz; anything else is 404 or 405.
  Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;

 private:
  const metrics::Registry& registry_;  // Must outlive it.
};

// Serves that page.
class MetricsServer {
 public:
  // `registry` must outlive it.
  explicit MetricsServer(const metrics::Registry& registry) : page_(registry) {}

  // Listens, unless the address is empty; over https if there is a certificate. Returns what to say
  // of it: "; metrics at URL".
  Result<std::string> listen_if_asked(const std::string& address,
                                      std::shared_ptr<const net::TlsServerContext> tls = nullptr);

  // The certificate of connections from now on. Whether there is TLS stays as it was.
  void use(std::shared_ptr<const net::TlsServerContext> tls);

 private:
  MetricsPage page_;
  Settings settings_{.threads = 1, .max_connections = 64};
  std::optional<Server> server_;
};

}  // namespace once::server

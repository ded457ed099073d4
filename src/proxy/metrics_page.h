// Metrics and health of a proxy or worker. On a port of its own: every path of a proxy's own port
// belongs to the upstream.
#pragma once

#include "metrics/registry.h"
#include "server/handler.h"

namespace once::proxy {

class MetricsPage final : public server::Handler {
 public:
  explicit MetricsPage(const metrics::Registry& registry) : registry_(registry) {}

  // GET and HEAD of /metrics and /healthz; anything else is 404 or 405.
  server::Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;

 private:
  const metrics::Registry& registry_;  // Must outlive it.
};

}  // namespace once::proxy

// What a proxy tells of itself to those who watch it: on a port of its own, because every path of
// the other one is the upstream's.
#pragma once

#include "metrics/registry.h"
#include "server/handler.h"

namespace once::proxy {

class MetricsPage final : public server::Handler {
 public:
  explicit MetricsPage(const metrics::Registry& registry) : registry_(registry) {}

  // GET and HEAD of /metrics and /healthz; anything else is 404 or 405.
  server::Reply respond(api::Request request, Home& home, Done later) override;

 private:
  const metrics::Registry& registry_;  // Must outlive it.
};

}  // namespace once::proxy

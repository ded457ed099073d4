// ElasticMQ, which speaks like Amazon SQS, as scripts/install-servers puts it down. It takes about
// a second to start. What it holds is forgotten with it, and it knows neither attributes of
// messages nor groups.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "testing/servers/port_server.h"

namespace once::testing {

class ElasticMq final : public PortServer {
 public:
  // Why it cannot be started on this machine; nothing if it can.
  static std::optional<std::string> missing();

  ElasticMq() : PortServer("ElasticMQ") { begin(); }

 private:
  std::unique_ptr<Daemon> launch() override;
  bool comes_up(Daemon& daemon) override;
};

}  // namespace once::testing

// Amazon's own DynamoDB Local, as scripts/install-servers puts it down. It takes about two seconds
// to start: one for a whole test program, which is registered as one test (once_test WHOLE).
//
// It differs from the service: it checks no signatures, and never answers with throttling,
// conflicts or unprocessed keys.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "testing/servers/port_server.h"

namespace once::testing {

class DynamoDbLocal final : public PortServer {
 public:
  enum class Data {
    in_memory,
    on_disk,  // Survives kill() and start().
  };

  // Why it cannot be started on this machine; nothing if it can.
  static std::optional<std::string> missing();

  explicit DynamoDbLocal(Data data = Data::in_memory) : PortServer("DynamoDB Local"), data_(data) {
    begin();
  }

 private:
  std::unique_ptr<Daemon> launch() override;
  bool comes_up(Daemon& daemon) override;

  const Data data_;
};

}  // namespace once::testing

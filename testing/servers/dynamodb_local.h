// Amazon's own DynamoDB Local, as scripts/install-servers puts it down. It takes about two seconds
// to start: one for a whole test program, which is registered as one test (once_test WHOLE).
//
// It differs from the service: it checks no signatures, and never answers with throttling,
// conflicts or unprocessed keys.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "testing/servers/daemon.h"
#include "testing/temp_dir.h"

namespace once::testing {

class DynamoDbLocal {
 public:
  enum class Data {
    in_memory,
    on_disk,  // Survives kill() and start().
  };

  // Why there is none to start on this machine; nothing if there is one.
  static std::optional<std::string> missing();

  // Starts one on a free loopback port, in a private directory; back when it answers. Ends the
  // process with what the server said if it does not within a minute.
  explicit DynamoDbLocal(Data data = Data::in_memory);

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return daemon_->pid(); }

  void kill() { daemon_->kill(); }
  void start();  // Again after kill(), on the same port.

 private:
  bool launch();  // Whether it answers; false if it ended instead.

  const Data data_;
  const TempDir directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace once::testing

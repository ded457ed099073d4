// S3 by Ceph's gateway: a monitor, an object daemon and the gateway, as Debian has them. It takes
// two to four seconds to start: one for a whole test program (once_test WHOLE).
//
// It checks signatures. It differs from Amazon's S3: If-Match matches a bare ETag only, and on a
// missing object it is refused as 412; conditions on DELETE are ignored; it never answers 409 or
// SlowDown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testing/servers/daemon.h"
#include "testing/temp_dir.h"

namespace once::testing {

class CephS3 {
 public:
  static constexpr const char* kAccessKey = "AKIATEST";
  static constexpr const char* kSecretKey = "SECRETTEST";
  // Another user, who has no rights to any bucket.
  static constexpr const char* kStrangersKey = "AKIASTRANGER";

  // Why it cannot be started on this machine; nothing if it can.
  static std::optional<std::string> missing();

  // Starts one on free loopback ports, in a private directory, keeping all in memory; back when it
  // answers. Ends the process with what the servers said if it does not within a minute.
  CephS3();

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // For buckets in the host's name: BUCKET.s3.localhost.
  std::string named_url() const { return "http://s3.localhost:" + std::to_string(port_); }
  std::uint16_t port() const { return port_; }

 private:
  bool launch();
  bool start_monitor();
  bool start_objects();
  bool start_gateway();
  void write_settings(const std::string& id, std::uint16_t monitor_port) const;
  // Runs a command to its end with our settings; what it printed, if it went well.
  std::optional<std::string> run(const std::string& command) const;
  std::string logs() const;

  const TempDir directory_;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<Daemon>> daemons_;  // Killed in reverse.
};

}  // namespace once::testing

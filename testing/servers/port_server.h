// What starters have in common whose server is one process on one loopback port.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "testing/servers/daemon.h"
#include "testing/temp_dir.h"

namespace once::testing {

class PortServer {
 public:
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  const std::filesystem::path& directory() const { return directory_.path(); }
  pid_t pid() const { return daemon_->pid(); }

  void kill() { daemon_->kill(); }
  void start();  // Again after kill(), on the same port and directory.

 protected:
  explicit PortServer(std::string name) : name_(std::move(name)) {}
  virtual ~PortServer() = default;

  // To be called when the rest is made: starts it on a free port, in a private directory; back when
  // it answers. Ends the program with what the server said if it does not.
  void begin();

 private:
  virtual std::unique_ptr<Daemon> launch() = 0;
  virtual bool comes_up(Daemon& daemon) = 0;  // Waits for it; false if it ends instead.

  bool launched();
  [[noreturn]] void give_up() const;

  const std::string name_;
  const TempDir directory_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Daemon> daemon_;
};

// Asks again and again, while it is alive and for a minute: for servers that do not say when they
// are up.
bool answers_while_alive(Daemon& daemon, const std::function<bool()>& answers);

// Why a server cannot be started that is a jar which scripts/install-servers puts down.
std::optional<std::string> missing_jar(const std::string& name, const std::filesystem::path& jar);

// For a small machine that is quick to start: several lanes and tests share the computer.
std::vector<std::string> java_arguments();

}  // namespace once::testing

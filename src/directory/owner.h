// Who has the directory of an embedded store, which one process at a time may open. A server that
// has it leaves its address in DIR/server, which only the directory's owner can read: its URL, its
// instance and a secret, one per line; with TLS, a fourth line has the fingerprints of the
// certificates that it shows, so that it is known whatever name they have. Commands that are given
// the directory ask that server. What listens there may be another program by now, of another user
// even. So nothing is sent to it, the token least of all, before it has proved on the same
// connection that it knows the secret (docs/threats.md).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/http_client.h"
#include "once/error.h"
#include "once/store.h"

namespace once::directory {

struct ServerAddress {
  std::string url;
  std::string instance;
  std::string secret;                     // A new one for each server that has the directory.
  std::vector<std::string> certificates;  // SHA-256 as hex; empty without TLS.
};

// Trusts the server that left this address in the directory, and no other. Its certificate may have
// been replaced since: the file is read for each connection. `own` is who we are: its authorities
// do not count.
client::ServerTrust trust_of(const std::filesystem::path& directory, const ServerAddress& address,
                             const client::ClientFiles& own = {});

class AddressFile {
 public:
  // The destructor removes the file.
  static Result<AddressFile> write(const std::filesystem::path& directory,
                                   const ServerAddress& address);
  Result<void> rewrite(const ServerAddress& address) const;
  AddressFile(AddressFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~AddressFile();

  // Empty if there is no such file.
  static std::optional<ServerAddress> read(const std::filesystem::path& directory);

 private:
  explicit AddressFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

// The server that has the directory, as it has proved; nothing if none has.
std::optional<ServerAddress> running_server(const std::filesystem::path& directory,
                                            const client::ClientFiles& own = {});

// Opens the directory's store. While another process has it open, tries for `wait_for_turn`, and is
// `unavailable` then.
using OpenStore = std::function<Result<std::unique_ptr<Store>>(Duration wait_for_turn)>;

// A server, or the store, which this process has opened.
using Owner = std::variant<ServerAddress, std::unique_ptr<Store>>;

// This process, if no other has the store open; else the server that has, or this process as soon
// as it is its turn. Another process that has the store open, and is no server, is waited for until
// `within` is over.
Result<Owner> find_owner(const std::filesystem::path& directory, const OpenStore& open,
                         Duration within, Clock& clock = system_clock(),
                         const client::ClientFiles& own = {});

}  // namespace once::directory

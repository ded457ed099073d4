// Where a command's requests go: a server, or the API in this process on a store that it opens.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/service.h"
#include "cli/invocation.h"
#include "client/http_client.h"
#include "once/once.h"
#include "remote/repeat.h"

namespace once::cli {

// How long an answer may take: what the server may, and some more for the way.
inline constexpr Duration kPatience = kAttemptLife + std::chrono::seconds(5);

// How long a directory's store is waited for that another process has open.
inline constexpr Duration kPatienceForTurn = std::chrono::seconds(10);

// How a request that writes is sent.
struct WriteOptions {
  remote::Repeat repeat = remote::Repeat::safe;
  std::string id;           // What it is known by; "" if it needs none, or has none.
  std::string what = "it";  // What to repeat with that id, for people.

  // If the id was made up here: the same request without it, for a store that has no room for
  // another id.
  std::optional<api::Request> without_id;
};

class Target {
 public:
  virtual ~Target() = default;

  // Opens or connects at the first call. Waits for a server's answer, and for its turn in a
  // directory, no longer than kPatience.

  // For a request that changes nothing.
  Result<api::Response> call(const api::Request& request);

  // For one that does. If its answer is lost, it is sent again, if it may be. What stays unknown is
  // a problem of that code, which says how to repeat it (docs/hazards.md#h35).
  Result<api::Response> write(const api::Request& request, const WriteOptions& options = {});

  // Closes a store that other processes may be waiting for, until the next call.
  virtual void release_store() {}

  // The server that calls go to; null if they are answered in this process.
  virtual Result<client::HttpClient*> server() = 0;

  // After a call: whether no other process can use the store until release_store().
  virtual bool holds_store() const { return false; }

 private:
  // Once, within that time.
  virtual Result<api::Response> send(const api::Request& request, Duration within) = 0;

  Result<api::Response> send_until_answered(const api::Request& request, remote::Repeat repeat);
};

// As --store says: http://host:port, or a store's address. On a directory where a server runs,
// calls go to that server; one that another process has open is waited for, up to kPatienceForTurn.
std::unique_ptr<Target> open_target(const Invocation& invocation);

// The library on what --store says, for results that are JSON, and sent as such. A directory is
// shared as above, call by call.
Result<Once> open_library(const Invocation& invocation);

// The store if neither --store nor $ONCE_STORE is given. `invalid` if there is no home directory
// either.
Result<std::string> default_store();

// What --ca, --client-cert and --client-key say.
client::ClientFiles client_files(const Invocation& invocation);

// What --store says, or the default.
Result<std::string> named_store(const Invocation& invocation);

// The same; on a directory where a server runs, the server's address.
struct StorePlace {
  std::string address;
  client::ServerTrust trust;  // If it is a server.
};
Result<StorePlace> store_or_server(const Invocation& invocation);

// The library there, for a process that stays: a directory without a server is its own from now on.
Result<Once> open_place(const StorePlace& place, const std::string& token,
                        const std::string& name_space);

}  // namespace once::cli

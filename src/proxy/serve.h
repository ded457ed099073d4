// The proxy from start to stop.
#pragma once

#include <functional>
#include <string>

#include "proxy/workers.h"
#include "server/journal.h"
#include "server/server.h"

namespace once::proxy {

inline constexpr Duration kMaxUpstreamTimeout = std::chrono::hours(1);

struct ProxyOptions {
  std::string store;               // Its address, or the URL of a server.
  std::string token;               // For a server.
  client::ServerTrust trust;       // Likewise.
  client::ClientFiles client_tls;  // For the upstream.
  std::string name_space;
  std::string listen = "127.0.0.1:7601";
  net::TlsFiles tls;           // Of the proxy; without a certificate it speaks plain HTTP.
  bool plain_http = false;     // Beyond loopback, too.
  std::string metrics_listen;  // Empty: nowhere.
  std::string version;         // Of the program, for its metrics.
  server::JournalOptions journal;
  WorkersOptions workers;
  Duration ttl = std::chrono::hours(24);
  Rules rules;
  server::Settings settings;

  // As of server::ServeOptions.
  std::function<Result<ProxyOptions>()> read_again;
  std::vector<std::string> changed;
  std::function<void()> taken;
};

// Runs until SIGTERM or SIGINT, and takes certificates and limits anew at SIGHUP; at the end it
// completes the requests that are under way, within their time-outs. `ready` is called once, with a
// line that names the address, upstream and store. An error if it could not start.
Result<void> serve(ProxyOptions options, const std::function<void(const std::string&)>& ready);

}  // namespace once::proxy

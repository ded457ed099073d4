// A server from start to stop: opens its store, serves until it gets a signal, and closes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/service.h"
#include "client/http_client.h"
#include "events/routes.h"
#include "net/tls.h"
#include "server/journal.h"
#include "server/server.h"

namespace once::server {

struct ServeOptions {
  // Stops as by SIGTERM once nobody has asked anything for so long. Several that are started at
  // once on one directory agree on one: the others announce its URL, and are done.
  std::optional<Duration> exit_when_idle;

  std::string store;  // Its address.
  Duration sweep_every = std::chrono::minutes(5);
  std::string listen = "127.0.0.1:7600";
  bool open_to_all = false;        // Listen beyond loopback without tokens.
  net::TlsFiles tls;               // Of the server; without a certificate it speaks plain HTTP.
  bool plain_http = false;         // Beyond loopback, too.
  client::ClientFiles client_tls;  // For the handlers of events.
  std::string version;             // Of the program, for metrics.
  Settings settings;
  JournalOptions journal;
  api::ServiceOptions service;
  Duration count_every = std::chrono::minutes(5);  // What namespaces with quotas have in the store.
  events::EventOptions events;

  // Reads the options again, for SIGHUP. `invalid` if they are wrong, or one has changed that
  // counts at the start only. What it returns has the names of those that have changed, and is told
  // when it is taken into use.
  std::function<Result<ServeOptions>()> read_again;
  std::vector<std::string> changed;
  std::function<void()> taken;
};

// Serves until SIGTERM or SIGINT; then requests under way may take another 4 s. SIGHUP takes
// certificates, routes, limits and tokens anew (server/reload.h). `ready` is called
// once, with a line that names the URL and the store. An error if it could not start.
Result<void> serve(ServeOptions options, const std::function<void(const std::string&)>& ready);

}  // namespace once::server

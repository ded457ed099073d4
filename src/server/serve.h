// A server from start to stop: opens its store, serves until it gets a signal, and closes.
#pragma once

#include <functional>
#include <string>

#include "api/service.h"
#include "events/routes.h"
#include "server/journal.h"
#include "server/server.h"

namespace once::server {

struct ServeOptions {
  std::string store;  // Its address.
  std::string listen = "127.0.0.1:7600";
  bool open_to_all = false;  // Listen beyond loopback without tokens.
  std::string version;       // Of the program, for metrics.
  Settings settings;
  JournalOptions journal;
  api::ServiceOptions service;
  events::EventOptions events;
};

// Serves until SIGTERM or SIGINT; then requests under way may take another 4 s. `ready` is called
// once, with a line that names the URL and the store. An error if it could not start.
Result<void> serve(ServeOptions options, const std::function<void(const std::string&)>& ready);

}  // namespace once::server

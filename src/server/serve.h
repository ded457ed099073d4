// A server from start to stop: opens its store, serves until it is told to end, and closes.
#pragma once

#include <functional>
#include <string>

#include "api/service.h"
#include "events/door.h"
#include "server/journal.h"
#include "server/settings.h"

namespace once::server {

struct ServeOptions {
  std::string store;  // Its address.
  std::string listen = "127.0.0.1:7600";
  bool open_to_all = false;  // Listen beyond loopback without tokens.
  std::string version;       // Of the program, for those who watch it.
  Settings settings;
  JournalOptions journal;
  api::ServiceOptions service;
  events::DoorOptions events;
};

// Serves until SIGTERM or SIGINT; what is under way then is finished, for at most 4 s. `ready` is
// called once, with a line that says where and on what. An error if it could not start.
Result<void> serve(ServeOptions options, const std::function<void(const std::string&)>& ready);

}  // namespace once::server

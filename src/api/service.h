// The API as a function from requests to answers, without sockets: the server carries requests to
// it over HTTP, the shell verbs call it in their own process. Safe to share between threads. It
// must outlive the plans it gave.
#pragma once

#include <string>

#include "api/event_routes.h"
#include "api/hot_keys.h"
#include "api/message.h"
#include "api/metrics.h"
#include "api/tokens.h"
#include "once/claims.h"
#include "once/documents.h"
#include "once/log.h"
#include "once/tallies.h"

namespace once::api {

struct EventOptions {
  EventRoutes routes;
  IfStoreDown if_store_down = IfStoreDown::proceed;  // A duplicate is better than a loss.
};

class Checkpoints;

struct ServiceOptions {
  std::string name_space = "default";  // Where a request names none.
  IfStoreDown if_store_down = IfStoreDown::refuse;
  EventOptions events;
  bool needs_tokens = false;           // Also when there are none, or none any more.
  std::string instance;                // Tells one running server from another.
  Checkpoints* checkpoints = nullptr;  // Null where the store has none. Must outlive the service.
  std::string store;  // What to call the store, as in Store::describe(). Anyone may read it.
};

class Service {
 public:
  explicit Service(ServiceOptions options = {}) : options_(std::move(options)) {}

  // Parses the request on the caller's thread; what is left to do is a plan for a driver. Bad
  // requests are answered at once.
  Answer respond(const Request& request);

  // As respond(), for a plan that could not be run to its end.
  static Response failed(const Error& error);

  const ServiceOptions& options() const { return options_; }
  documents::Contention& contention() { return contention_; }
  logs::KnownEnds& known_ends() { return known_ends_; }
  tallies::KnownTallies& known_tallies() { return known_tallies_; }
  HotKeys& hot() { return hot_; }
  tokens::Table& tokens() { return tokens_; }
  Metrics& metrics() { return metrics_; }

 private:
  const ServiceOptions options_;
  documents::Contention contention_;
  logs::KnownEnds known_ends_;
  tallies::KnownTallies known_tallies_;
  HotKeys hot_;
  tokens::Table tokens_;
  Metrics metrics_;
};

// The longest that a request may wait for a claim, and that any may take.
inline constexpr Duration kMaxWait = std::chrono::minutes(5);
inline constexpr Duration kRequestPatience = kMaxWait + kAttemptLife;

}  // namespace once::api

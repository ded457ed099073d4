// `once work`, from its start to its end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/http_client.h"
#include "once/once.h"
#include "once/work.h"
#include "server/journal.h"
#include "server/listening.h"

namespace once::work {

struct ServeOptions {
  std::string queue;                   // Its address.
  std::string store;                   // Its address, for people,
  std::function<Result<Once>()> open;  // and how it is opened.
  std::vector<std::string> command;    // One of the two.
  std::string http;
  Duration http_timeout = std::chrono::minutes(5);
  client::SharedTls http_tls;
  WorkerOptions worker;
  server::JournalOptions journal;
  std::string metrics_listen;  // host:port; "" for nowhere.
  net::TlsFiles metrics_tls;   // Of that port; without a certificate it speaks plain HTTP.
};

// Works until TERM or INT; then it finishes what is under way. A second one ends it at once, and
// the messages come back. `ready` gets a line when it begins. Called before any thread is started.
Result<void> serve(const ServeOptions& options,
                   const std::function<void(const std::string&)>& ready);

}  // namespace once::work

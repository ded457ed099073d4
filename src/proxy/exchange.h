// One request after the other: the rules of the proxy, without threads and sockets of clients.
#pragma once

#include "client/http_client.h"
#include "proxy/ledger.h"
#include "proxy/probe.h"

namespace once::proxy {

struct Rules {
  std::string upstream;  // http://host:port
  Duration upstream_timeout = std::chrono::seconds(30);
  std::size_t max_body = 1U << 20;     // Bytes of a request's body,
  std::size_t max_answer = 16U << 20;  // and of an answer's.
  bool require_key = false;
  bool retry_5xx = false;
  AfterUnknown after_unknown = AfterUnknown::refuse;
  IfStoreDown if_store_down = IfStoreDown::refuse;
};

// How long taking a claim may take for it to be used: with the time-out of the upstream it is what
// a request may need.
inline constexpr Duration kTakeWithin = std::chrono::seconds(5);

// Not safe to share between threads: it has a connection of its own to the upstream, kept open.
class Exchange {
 public:
  Exchange(Rules rules, Ledger ledger, Probe& probe);  // `probe` must outlive it.

  // Blocks until there is an answer, which there always is. Its notes say what it is.
  api::Response answer(const api::Request& request);

 private:
  api::Response guarded(const api::Request& request, const std::string& name);

  // The claim, with what stood in its way left to the caller.
  Result<Taking> take(const std::string& name, const std::string& digest, Step& check);

  // The answer, or nothing: then it is this request's turn.
  Result<std::optional<api::Response>> answer_known(const std::string& name,
                                                    const std::string& digest);
  api::Response send_claimed(const api::Request& request, const std::string& name,
                             const Ticket& ticket);

  // Untouched, but for what is about connections.
  Result<api::Response> forward(const api::Request& request);
  api::Response pass(const api::Request& request);
  api::Response without_store(const api::Request& request, const Error& error);
  bool frees(int status) const;

  const Rules rules_;
  Ledger ledger_;
  Probe& probe_;
  std::optional<server::Trace> trace_;  // Of the request under way, if it is recorded.
  client::HttpClient upstream_;
};

}  // namespace once::proxy

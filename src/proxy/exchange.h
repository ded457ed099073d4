// Answers one request at a time by the rules of the proxy. Knows no threads and no client sockets.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "client/http_client.h"
#include "proxy/key_records.h"
#include "proxy/telemetry.h"
#include "server/body_stream.h"

namespace once::proxy {

struct Rules {
  std::string upstream;  // http://host:port or https://host:port
  Duration upstream_timeout = std::chrono::seconds(30);
  client::SharedTls tls;    // For an upstream of https; null: as the machine trusts.
  std::stop_token stopped;  // Aborts requests that are at the upstream.
  // For how long a connection to the upstream may have been idle that a request with a key goes on.
  Duration reuse_within = std::chrono::seconds(1);
  std::size_t max_body = 1U << 20;            // Bytes of the body of a request with a key,
  std::size_t max_answer = 16U << 20;         // and of an answer to it that is held and stored.
  std::vector<std::string> identity_headers;  // In lower case. Who asks, besides the usual ones.
  bool require_key = false;
  bool retry_5xx = false;
  AfterUnknown after_unknown = AfterUnknown::refuse;
  IfStoreDown if_store_down = IfStoreDown::refuse;
};

// How long taking a claim may take for it to be used: with the time-out of the upstream it is what
// a request may need.
inline constexpr Duration kTakeWithin = std::chrono::seconds(5);

// Told when a request waits for a client that reads too slowly, so that others may go on in its
// place.
class SlowReaders {
 public:
  virtual ~SlowReaders() = default;
  virtual bool begin(const api::Request& request) = 0;  // False if too many wait already.
  virtual void end(const api::Request& request) = 0;
};

// Not safe to share between threads: it has a connection of its own to the upstream, kept open.
class Exchange {
 public:
  Exchange(Rules rules, KeyRecords records,
           ProxyTelemetry& telemetry);  // `telemetry` must outlive it.

  // Blocks until there is an answer, which there always is. Its telemetry says what it is. One that
  // is sent as it comes is told to `begin` instead, and then blocks until it is over.
  using Answer = std::optional<api::Response>;
  using Begin = std::function<void(api::Response head, std::shared_ptr<server::BodyStream> rest)>;
  Answer answer(const api::Request& request, const Begin& begin);

  void report_to(SlowReaders& slow_readers) { slow_readers_ = &slow_readers; }  // Must outlive it.

 private:
  // What came of a request that was sent: if `rest` is there, the answer has begun without its end.
  struct Forwarded {
    Result<api::Response> answer;
    std::shared_ptr<server::BodyStream> rest;
    std::string end;               // The last piece, which `rest` is to get after the record.
    std::uint64_t body_bytes = 0;  // Of both.
  };
  using TimeoutKind = client::StreamOptions::TimeoutKind;

  Answer guarded(const api::Request& request, const std::string& name);

  // Takes the claim. A failure is the caller's to answer.
  Result<Taking> take(const std::string& name, const std::string& digest, Step& check);

  // The answer, or nothing: then it is this request's turn.
  Result<std::optional<api::Response>> answer_known(const std::string& name,
                                                    const std::string& digest);
  Answer send_claimed(const api::Request& request, const std::string& name, const Ticket& ticket);
  void settle(const std::string& name, const Ticket& ticket, const Forwarded& sent);

  // Untouched, but for what is about connections.
  Forwarded forward(const api::Request& request, TimeoutKind timeout_kind, api::Outcome outcome);
  // Gives the client another piece of its answer. If it reads too slowly and too many do, its
  // answer is cut off.
  bool put(const api::Request& request, server::BodyStream& rest, std::string_view piece,
           server::BodyStream::Instant until);
  Answer pass(const api::Request& request, api::Outcome outcome);
  Answer without_store(const api::Request& request, const Error& error);
  api::Response marked(api::Response answer, api::Outcome outcome) const;
  bool frees(int status) const;

  const Rules rules_;
  KeyRecords records_;
  ProxyTelemetry& telemetry_;
  SlowReaders* slow_readers_ = nullptr;
  const Begin* begin_ = nullptr;        // Of the request under way.
  std::optional<server::Trace> trace_;  // Of the request under way, if it is recorded.
  client::HttpClient upstream_;
};

}  // namespace once::proxy

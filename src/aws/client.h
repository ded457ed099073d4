// A client of one of Amazon's services, or of a compatible one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aws/credentials.h"
#include "aws/message.h"
#include "aws/signer.h"
#include "aws/transfers.h"
#include "base/server_time.h"
#include "once/error.h"
#include "once/time.h"

namespace once::aws {

struct ClientOptions {
  std::string endpoint;  // http or https://host[:port], without a path.
  std::string region;
  std::string service;
  std::shared_ptr<Credentials> credentials;
  Duration connect_timeout = Duration(3'000);
  std::size_t connections = 50;             // At most; 1 to 1,000.
  std::size_t response_limit = 64U << 20U;  // In bytes, of a body.
  std::string ca_file;                      // Instead of the system's certificates.
  Clock* clock = &boot_clock();             // Must outlive the client.
};

// Safe to share between threads; no call may be under way when it is destroyed. Certificates are
// always verified. An http endpoint is reached directly, an https one through https_proxy if set.
class Client {
 public:
  // `invalid` for a wrong option. Sends nothing.
  static Result<std::unique_ptr<Client>> open(ClientOptions options);

  // One attempt for each, all at once, each answered by the deadline. Any answer of the service is
  // a Response, also a refusal. Errors: `unavailable` if it was certainly not sent (no connection,
  // no keys), `unknown` if it was sent and the reply was lost, `invalid` if the reply is not HTTP.
  // If the signature's time or expired keys are refused, the request is signed again, by the Date
  // of the refusal and with newer keys, and sent once more.
  std::vector<Result<Response>> send(std::span<const Request> requests, Deadline deadline);
  Result<Response> send(const Request& request, Deadline deadline);

  // The server's time minus ours, by the Dates of its answers.
  const ServerOffset& server_offset() const { return server_offset_; }

 private:
  Client(ClientOptions options, std::string host, TransferOptions transfers);

  // Of each request whose signature's time was refused: the server's time minus ours, by the
  // refusal.
  using Offsets = std::vector<std::optional<Duration>>;

  Transfer signed_transfer(const Request& request, const Keys& keys, Duration offset) const;
  std::optional<Duration> learn_time(const Response& response, const Transfer& transfer);

  // Sends the requests at `places`, signed by what is `shown` or else by what is believed. Returns
  // those to send again, because the reason of their refusal was removed.
  std::vector<std::size_t> attempt(std::span<const Request> requests,
                                   const std::vector<std::size_t>& places, Offsets& shown,
                                   std::vector<Result<Response>>& answers, Deadline deadline);

  const ClientOptions options_;
  const std::string host_;
  const Scope scope_;
  ServerOffset server_offset_{std::chrono::seconds(1)};  // A Date has whole seconds.
  Transfers transfers_;
};

}  // namespace once::aws

// A server, as the primitives of this process ask it. Safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/message.h"
#include "client/http_client.h"
#include "kernel/mutex.h"
#include "once/entropy.h"
#include "once/plan.h"

namespace once::remote {

// The one place where an answer that is no outcome becomes an error: by the code of its problem, or
// by its status if it is no server of ours that answered. Nothing for an outcome.
std::optional<Error> error_in(const api::Request& request, const api::Response& response);

// "busy", "fenced" and so on; empty where there is none.
std::string code_of(const api::Response& response);

bool is_replayed(const api::Response& response);

// Whether a request has the same effect however often it arrives.
enum class Repeat : std::uint8_t { never, safe };

struct Told {
  api::Response response;
  bool again = false;  // A first answer was lost, and it was asked again.
};

class Peer {
 public:
  // `clock` and `entropy` must outlive it. The token is told to nobody but the server.
  Peer(std::string url, std::string token, std::string name_space, Clock& clock, Entropy& entropy);

  // An outcome, such as 200 or 409 busy. What lost its answer is asked again until it is answered
  // or `patience` is over, if it may be repeated; what was never sent is `unavailable` at once.
  Result<Told> ask(const api::Request& request, Repeat repeat, Duration patience = kAttemptLife);

  // With the namespace and the form of all requests. `invalid` if the name can be none.
  Result<api::Request> request(std::string method, std::string_view noun, std::string_view name,
                               std::string_view action = "") const;
  Result<api::Request> request(std::string method, std::string path) const;  // Of no name.

  // An id that nobody else has.
  std::string new_id();

  Clock& clock() { return clock_; }
  Entropy& entropy() { return entropy_; }
  const std::string& name_space() const { return name_space_; }

 private:
  Result<api::Response> send(const api::Request& request, Duration timeout);

  const std::string url_;
  const std::string token_;
  const std::string name_space_;
  Clock& clock_;
  Entropy& entropy_;

  Mutex mutex_;
  std::vector<std::unique_ptr<client::HttpClient>> idle_ ONCE_GUARDED_BY(mutex_);
};

// `250ms`.
std::string duration_text(Duration length);

// `invalid` if it cannot be written.
Result<std::string> time_text(Time time);

}  // namespace once::remote

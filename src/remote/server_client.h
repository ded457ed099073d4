// Calls a server on behalf of this process's primitives. Safe to share between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/mutex.h"
#include "client/http_client.h"
#include "once/entropy.h"
#include "once/plan.h"
#include "remote/repeat.h"
#include "wire/data_form.h"
#include "wire/message.h"

namespace once::remote {

class ServerClient {
 public:
  // `clock` and `entropy` must outlive it. The token is sent to no one but the server. An empty
  // `name_space` is the server's own default. `still_there`, if given, is asked before a request
  // whose answer was lost is repeated: false ends the call. `trust` is as for an HttpClient.
  ServerClient(std::string url, std::string token, std::string name_space, Clock& clock,
               Entropy& entropy, std::function<bool()> still_there = {},
               wire::DataForm form = wire::DataForm::exact, client::ServerTrust trust = {});

  // The answer, if it is an outcome, such as 200 or 409 busy; otherwise the error that it stands
  // for. A request whose answer was lost is repeated, if it may be, until it is answered or
  // `within` is over; so is a write that something other than a server of Once answered. One that
  // was never sent is `unavailable` at once. `waits` is what of `within` the server may wait for
  // others.
  Result<CallResult> call(const wire::Request& request, Repeat repeat, Duration within,
                          Duration waits = Duration::zero());

  // A request with the headers that all requests have. `invalid` if `name` is not a valid key.
  Result<wire::Request> request(std::string method, std::string_view noun, std::string_view name,
                                std::string_view action = "") const;
  Result<wire::Request> request(std::string method, std::string target) const;

  // An id that no other request has.
  std::string new_id();

  Clock& clock() { return clock_; }
  Entropy& entropy() { return entropy_; }
  const std::string& name_space() const { return name_space_; }
  wire::DataForm form() const { return form_; }  // Of the caller's bytes in requests and answers.

 private:
  Result<wire::Response> send(const wire::Request& request, Duration timeout);

  const std::string url_;
  const std::string token_;
  const std::string name_space_;
  Clock& clock_;
  Entropy& entropy_;
  const std::function<bool()> still_there_;
  const wire::DataForm form_;
  const client::ServerTrust trust_;

  Mutex mutex_;
  std::vector<std::unique_ptr<client::HttpClient>> idle_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::remote

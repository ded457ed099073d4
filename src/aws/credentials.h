// Who we are to Amazon's services.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "once/error.h"
#include "once/time.h"

namespace once::aws {

struct Keys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // "" for lasting keys.
  Time expires = kNever;

  friend bool operator==(const Keys&, const Keys&) = default;
};

using Deadline = std::chrono::steady_clock::time_point;

// Safe to share between threads.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // Keys that are good now. May ask a service for them, until `deadline`. An error means that
  // there are none: denied if none are configured, unavailable if whoever gives them does not.
  virtual Result<Keys> keys(Deadline deadline) = 0;

  // The service took `keys` for expired: they are not given out again where newer can be had.
  virtual void refused(const Keys& /*keys*/) {}
};

// Always these keys.
std::shared_ptr<Credentials> fixed_credentials(Keys keys);

}  // namespace once::aws

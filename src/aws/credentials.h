// The keys by which Amazon's services know the caller.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "once/error.h"
#include "once/time.h"

namespace once::aws {

struct Keys {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  // "" for keys without an end.
  Time expires = kNever;

  friend bool operator==(const Keys&, const Keys&) = default;
};

using Deadline = std::chrono::steady_clock::time_point;

// Safe to share between threads.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // Keys that are valid now. May ask a service for them, until `deadline`. `denied` if none are
  // configured, `unavailable` if their source does not answer.
  virtual Result<Keys> keys(Deadline deadline) = 0;

  // The service said that `keys` have expired: newer ones are used if there are any.
  virtual void refused(const Keys& /*keys*/) {}
};

// Always these keys.
std::shared_ptr<Credentials> fixed_credentials(Keys keys);

using FetchKeys = std::function<Result<Keys>(Deadline)>;

// Keys that expire. Fetches them at the first call, and again when less than five minutes, or a
// quarter of their life, are left. One thread at a time fetches; the others use the old keys while
// those are valid. While fetching fails, the keys are used until they expire, and it is tried at
// most once a second.
std::shared_ptr<Credentials> refreshing_credentials(FetchKeys fetch, Clock& clock);

}  // namespace once::aws

// Who answers the requests that a server reads: it knows no sockets.
#pragma once

#include <expected>
#include <functional>
#include <optional>

#include "api/follow.h"
#include "once/batching_driver.h"
#include "server/follow_hub.h"

namespace once::server {

// Must be safe to share between threads.
class Handler {
 public:
  using Done = std::move_only_function<void(api::Response)>;

  virtual ~Handler() = default;

  // The answer if it is there at once; otherwise `later` gets it, on any thread. Must not block.
  // `home` is the thread that asks.
  virtual std::optional<api::Response> respond(api::Request request, Home& home, Done later) = 0;

  // Why a request like this one, whose body is large and still to come, is not taken.
  virtual std::optional<api::Response> refusal(const api::Request&) { return std::nullopt; }

  // What the request wants to follow, if it is a follower's, and who feeds it.
  virtual std::expected<std::optional<api::Following>, api::Response> following(
      const api::Request&) {
    return std::nullopt;
  }
  virtual FollowHub* hub() { return nullptr; }  // Not null where anybody follows.

  // The server itself is about to answer what was no request, or one too many.
  virtual void refused(api::Response&) {}
};

}  // namespace once::server

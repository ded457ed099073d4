// Who answers the requests that a server reads: it knows no sockets.
#pragma once

#include <concepts>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "api/follow.h"
#include "once/batching_driver.h"
#include "server/follow_hub.h"
#include "server/pieces.h"

namespace once::server {

// Takes an answer, once; with the pieces of its body that are still to come, if there are any.
class Done {
 public:
  using Rest = std::shared_ptr<Pieces>;

  template <class F>
    requires std::invocable<F&, api::Response, Rest> && (!std::same_as<F, Done>)
  Done(F done) : done_(std::move(done)) {}
  template <class F>
    requires std::invocable<F&, api::Response> && (!std::invocable<F&, api::Response, Rest>)
  Done(F done)
      : done_([done = std::move(done)](api::Response response, const Rest&) mutable {
          done(std::move(response));
        }) {}

  void operator()(api::Response response, Rest rest = nullptr) {
    done_(std::move(response), std::move(rest));
  }

 private:
  std::move_only_function<void(api::Response, Rest)> done_;
};

// A request that somebody is at, and that may take too long.
class Unanswered {
 public:
  virtual ~Unanswered() = default;

  // The answer that there is none yet. Nothing if there is one after all, and on its way; otherwise
  // it never comes.
  virtual std::optional<api::Response> give_up() = 0;
};

// The answer comes later. If `unanswered` is set, it is given up after this long.
struct Awaited {
  Duration at_most{};
  std::shared_ptr<Unanswered> unanswered = nullptr;
};

using Reply = std::variant<Awaited, api::Response>;

// Must be safe to share between threads.
class Handler {
 public:
  using Done = server::Done;

  virtual ~Handler() = default;

  // The answer if it is there at once; otherwise `later` gets it, on any thread. Must not block.
  // `home` is the thread that asks.
  virtual Reply respond(api::Request request, Home& home, Done later) = 0;

  // Why a request like this one is not taken, or not any more. Its body may still be to come.
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

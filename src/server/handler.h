// Answers the requests that a server reads. Knows no sockets.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "api/follow.h"
#include "api/routes.h"
#include "api/tenants.h"
#include "once/batching_driver.h"
#include "server/body_stream.h"
#include "server/follow_hub.h"

namespace once::server {

// Takes the answer to one request; to be called once. If there is a body stream, the answer is only
// the head, and its body follows through the stream.
class ReplyCallback {
 public:
  using Body = std::shared_ptr<BodyStream>;
  using Tenant = std::shared_ptr<api::Tenant>;

  template <class F>
    requires std::invocable<F&, api::Response, Body, Tenant>
  ReplyCallback(F callback) : callback_(std::move(callback)) {}
  template <class F>
    requires std::invocable<F&, api::Response, Body> && (!std::same_as<F, ReplyCallback>)
  ReplyCallback(F callback)
      : callback_([callback = std::move(callback)](api::Response response, Body body,
                                                   const Tenant&) mutable {
          callback(std::move(response), std::move(body));
        }) {}
  template <class F>
    requires std::invocable<F&, api::Response> && (!std::invocable<F&, api::Response, Body>)
  ReplyCallback(F callback)
      : callback_([callback = std::move(callback)](api::Response response, const Body&,
                                                   const Tenant&) mutable {
          callback(std::move(response));
        }) {}

  // Whose answer it is; nobody's if it is not said before the answer is there.
  void belongs_to(Tenant tenant) { tenant_ = std::move(tenant); }

  void operator()(api::Response response, Body body = nullptr) {
    callback_(std::move(response), std::move(body), tenant_);
  }

 private:
  std::move_only_function<void(api::Response, Body, const Tenant&)> callback_;
  Tenant tenant_;
};

// A request that is being worked on and may take too long.
class PendingReply {
 public:
  virtual ~PendingReply() = default;

  // Builds the timeout answer; empty if the real one is on its way. After a timeout answer the real
  // one never arrives.
  virtual std::optional<api::Response> time_out() = 0;
};

// The answer comes later. If `pending` is set, it times out after `patience`.
struct Awaited {
  Duration patience{};
  std::shared_ptr<PendingReply> pending = nullptr;

  // It may wait for others. The connection's next request starts after it, and the handler is told
  // at once if the caller hangs up.
  bool waits = false;
};

// From now on the connection carries the events of a log instead of answers. `request` is checked
// again while it does.
struct Followed {
  api::Following what;
  api::Request request;
};

struct Reply : std::variant<Awaited, api::Response, Followed> {
  using variant::variant;

  std::shared_ptr<api::Tenant> tenant;  // Whose request it was; null if nobody's.
};

// What is known of a request whose body is still to come.
struct Admission {
  std::optional<api::Response> refusal;  // Why it is refused; empty if it is not.
  std::shared_ptr<api::Tenant> tenant;   // Whose request it is; null if nobody's.
};

// Must be safe to share between threads.
class Handler {
 public:
  using ReplyCallback = server::ReplyCallback;

  virtual ~Handler() = default;

  // Returns the answer if it is ready at once; otherwise `later` gets it, on any thread. Must not
  // block. `executor` is the calling thread.
  virtual Reply respond(api::Request request, Executor& executor, ReplyCallback later) = 0;

  // The body may not have arrived yet. Asked again while a follower is connected.
  virtual Admission admit(const api::Request&) { return {}; }

  // How large the body of such a request may be.
  virtual api::BodyLimit body_limit(std::string_view /*method*/,
                                    std::string_view /*target*/) const {
    return api::BodyLimit::normal;
  }

  virtual FollowHub* hub() { return nullptr; }  // Not null if respond() returns Followed.

  // The caller of `executor` hung up, and a request of it waits.
  virtual void hung_up(Executor& /*executor*/) {}

  // The server itself answers bytes that are no request, or a connection too many. May add headers.
  virtual void refused(api::Response&) {}
};

}  // namespace once::server

// The API as a function from requests to answers, without sockets: the server gives it requests
// from HTTP, the shell verbs call it in their own process. Safe to share between threads. It must
// outlive the plans it returned.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/findings.h"
#include "api/hot_keys.h"
#include "api/tenants.h"
#include "api/tokens.h"
#include "base/mutex.h"
#include "metrics/answer_metrics.h"
#include "metrics/history.h"
#include "once/claims.h"
#include "once/documents.h"
#include "once/log.h"
#include "once/plan.h"
#include "once/tallies.h"
#include "wire/message.h"

namespace once::api {

// What a handler of a forwarded event is told about the request that brought the event.
struct ForwardContext {
  std::string traceparent;  // Its parent is the span of this server.
  std::string tracestate;
  std::string request_id;
};

// Work that runs by itself once it is started, and not as a plan of the caller's driver.
struct Deferred {
  using Done = std::move_only_function<void(Response)>;

  Duration patience{};  // The longest it may take.

  // `done` gets the answer on any thread, perhaps before this returns; it must not block.
  std::move_only_function<void(ForwardContext context, Done done)> start;
};

// What an operation returns: an answer, or work that leads to one. A driver gives up on a plan
// after kAttemptLife and the time it `waits` for others: a request that may be sent again must not
// be under way for longer.
struct Answer : std::variant<Response, Plan<Response>, Deferred> {
  using variant::variant;

  Duration waits{};
  std::optional<Duration> limit;  // The request's own bound on all of it, waits included.

  // How long a driver may take that otherwise takes as long as `work`.
  Duration patience(Duration work) const {
    return limit ? std::min(*limit, waits + work) : waits + work;
  }
  std::size_t weight = 0;  // About how many bytes a plan goes through besides what it reads.
};

// What the shares of a namespace are counted by.
inline std::uint64_t tenant_number(std::string_view name_space) {
  return std::hash<std::string_view>{}(name_space);
}

struct Call;
class Checkpoints;

// A route of events as GET /v1/routes tells it, with what came of its events since the server
// started.
struct EventRouteReport {
  std::string type;
  std::string forward;  // Without a password in it. Empty where there is none, as are those below.
  std::string log;
  std::string tally;
  std::uint64_t processed = 0;
  std::uint64_t skipped = 0;  // Duplicates.
  std::uint64_t busy = 0;     // Another delivery of the event was under way.
  std::uint64_t failed = 0;
};

// Receives CloudEvents (POST /v1/events). Implemented in src/events.
class EventReceiver {
 public:
  virtual ~EventReceiver() = default;
  virtual Answer receive(Call& call) = 0;

  // In the order in which they are tried.
  virtual std::vector<EventRouteReport> routes() const = 0;
};

struct ServiceOptions {
  std::string name_space = "default";  // Of requests that name none.
  IfStoreDown if_store_down = IfStoreDown::refuse;
  bool needs_tokens = false;  // Even if none exists: then nobody is let in.
  Duration token_trust =
      std::chrono::minutes(1);     // Tokens read longer ago than that let nobody in.
  Clock* clock = &system_clock();  // By which tokens expire and grow old.
  std::string instance;            // A different one for each running server.
  std::string secret;              // It proves that it knows this one; empty: it proves nothing.
  Checkpoints* checkpoints = nullptr;  // Null if the store has none. Must outlive the service.
  std::string store;                   // Store::describe(). Not for every caller: it has paths.
  std::string version;                 // Of the program.
  Duration keep_abandoned = kKeepAbandoned;      // Claims, after their lease.
  std::optional<Duration> default_ttl;           // Of claims and ids whose request names none.
  std::size_t tally_bytes = tallies::kMaxBytes;  // Of all tallies that one request needs.
  Quotas quotas;
  std::function<Result<void>()> check_writable;  // Whether a write would be admitted; null: yes.
};

class Service {
 public:
  explicit Service(ServiceOptions options = {})
      : options_(std::move(options)), tokens_(*options_.clock, options_.token_trust) {}

  // Parses the request on the caller's thread; what remains to be done is a plan for a driver. Bad
  // requests are answered at once.
  Answer respond(const Request& request);

  // The answer if the plan could not be run to its end.
  static Response failed(const Error& error);

  // The same if its time was over: 504 where something may have been written.
  static Response timed_out(const Error& error);

  // To be called before the first request; until then events are refused. It must outlive the
  // service's last request.
  void set_event_receiver(EventReceiver& receiver) { event_receiver_ = &receiver; }
  EventReceiver* event_receiver() const { return event_receiver_; }

  // Whether everyone may call, without a token.
  bool is_open() const;

  // Where it listens; empty until that is known.
  void set_url(std::string url) {
    const Lock lock(url_mutex_);
    url_ = std::move(url);
  }
  std::string url() const {
    const Lock lock(url_mutex_);
    return url_;
  }

  // Called after an event was added to the audit log, on any thread; it must not block. To be set
  // before the first request.
  void set_audit_listener(std::function<void()> listener) { audit_listener_ = std::move(listener); }
  const std::function<void()>& audit_listener() const { return audit_listener_; }

  // What GET /v1/doctor judges, besides what the service itself finds out. To be set before the
  // first request.
  void set_facts(std::function<Facts()> facts) { facts_ = std::move(facts); }
  Facts facts() const { return facts_ ? facts_() : Facts(); }

  // The bound on all tallies that one request needs; it may change while the server runs.
  std::size_t tally_bytes() const { return tally_bytes_.load(std::memory_order_relaxed); }
  void set_tally_bytes(std::size_t most) { tally_bytes_ = most; }

  const ServiceOptions& options() const { return options_; }
  documents::Contention& contention() { return contention_; }
  logs::KnownEnds& known_ends() { return known_ends_; }
  tallies::KnownTallies& known_tallies() { return known_tallies_; }
  HotKeys& hot() { return hot_; }
  tokens::Table& tokens() { return tokens_; }
  metrics::AnswerMetrics& metrics() { return metrics_; }
  metrics::History& history() { return history_; }  // A server samples it.
  Tenants& tenants() { return tenants_; }

 private:
  const ServiceOptions options_;
  std::atomic<std::size_t> tally_bytes_{options_.tally_bytes};
  EventReceiver* event_receiver_ = nullptr;
  std::function<void()> audit_listener_;
  std::function<Facts()> facts_;
  mutable Mutex url_mutex_;
  std::string url_ ONCE_GUARDED_BY(url_mutex_);
  documents::Contention contention_;
  logs::KnownEnds known_ends_;
  tallies::KnownTallies known_tallies_;
  HotKeys hot_;
  tokens::Table tokens_;
  metrics::AnswerMetrics metrics_;
  metrics::History history_{metrics_, options_.clock->now()};
  Tenants tenants_{options_.quotas, metrics_.registry()};
};

// The longest that a request may wait for a claim, and that any request may take.
inline constexpr Duration kMaxWait = std::chrono::minutes(5);
inline constexpr Duration kRequestPatience = kMaxWait + kAttemptLife;

}  // namespace once::api

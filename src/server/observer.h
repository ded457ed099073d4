// Sees every request and every answer of the server: counts them, gives each an id, and notes down
// what is notable. Safe to share between threads.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "api/metrics.h"
#include "server/journal.h"
#include "server/trace.h"

namespace once::server {

// A request under way.
struct Asked {
  api::Subject subject;
  std::string request_id;
  std::string method;
  std::string path;  // Without the query.
  std::optional<Trace> trace;
  std::string span_id;      // Of the span that this request is, if it is to be noted down.
  bool is_answered = true;  // Here, and not by an upstream, whose answer stays as it is.
  std::chrono::steady_clock::time_point since;
};

class Observer {
 public:
  // Both must outlive it. `instance` tells the ids of one server from those of another.
  Observer(api::Metrics& metrics, Journal& journal, std::string_view instance = "");

  Asked asked(const api::Request& request);
  Asked asked(const api::Request& request, api::Subject subject);
  void answered(const Asked& asked, api::Response& response);
  void left(const Asked& asked, api::Response& response);  // It waits for no answer any more.
  void refused(api::Response& response);                   // What was no request.

 private:
  std::string new_id();
  void note(const Asked& asked, const api::Response& response, api::Outcome outcome);
  void note_failure(const Asked& asked, const api::Notes& notes, api::Outcome outcome, int status,
                    Level level);
  void note_part(const Asked& asked, const api::Notes& notes, api::Outcome outcome, int status);
  void note_duplicate(const Asked& asked, const api::Notes& notes, std::string_view reason);
  void note_span(const Asked& asked, const api::Response& response, api::Outcome outcome,
                 std::chrono::nanoseconds length);
  void note_check(const Asked& asked, const api::Notes& notes);

  api::Metrics& metrics_;
  Journal& journal_;
  const std::string prefix_;
  std::atomic<std::uint64_t> last_id_ = 0;
};

}  // namespace once::server

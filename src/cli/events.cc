#include "cli/events.h"

#include <algorithm>
#include <iostream>
#include <limits>

#include "base/backoff.h"
#include "cli/answer.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "client/event_stream.h"
#include "wire/text.h"

namespace once::cli {
namespace {

constexpr PauseBounds kPausesBetweenReads{
    .shortest = Duration(100), .first = Duration(250), .longest = Duration(1'000)};
constexpr Duration kSilence = std::chrono::minutes(1);  // Then it is asked again.
constexpr std::int64_t kPage = 1'000;
constexpr std::size_t kIndexWidth = 6;

// Reads on from where it is. Every event comes from a read of the log or from the server's stream,
// in the order of indexes; what ends the stream is found out by the next read.
class Follower {
 public:
  Follower(const Invocation& invocation, std::int64_t from, std::int64_t most)
      : invocation_(invocation), target_(open_target(invocation)), next_(from), left_(most) {}

  // Until it printed as many as were asked for, or something failed.
  int run() {
    Backoff backoff(kPausesBetweenReads, system_clock(), system_entropy());
    while (left_ > 0) {
      const std::int64_t before = next_;
      if (const int exit = read_page(); exit != kDone) return exit;
      if (next_ == before) listen();
      if (next_ != before) {
        backoff.reset();
      } else {
        target_->release_store();
        (void)backoff.pause();
      }
    }
    return kDone;
  }

 private:
  std::string path(const std::string& query) const {
    return path_to("logs", invocation_.words[0]) + "?from=" + std::to_string(next_) + query;
  }

  int read_page() {
    const std::string limit = "&limit=" + std::to_string(std::min(left_, kPage));
    const auto page = target_->call(request_for(invocation_, "GET", path(limit)));
    if (!page) return print_error(invocation_, page.error());
    if (page->status != 200) return print_error(invocation_, *page);
    const Result<api::Json> body = api::parse_json(page->body);
    simdjson::dom::array events;
    if (!body || body->at_key("events").get(events) != simdjson::SUCCESS) {
      return print_error(invocation_, {ErrorCode::corrupt, "the answer is no page of a log"});
    }
    for (const api::Json event : events) take(event);
    std::cout.flush();
    return kDone;
  }

  // Where there is a server, it sends events as they come.
  void listen() {
    const Result<client::HttpClient*> server = target_->server();
    if (!server || *server == nullptr) return;
    api::Request request = request_for(invocation_, "GET", path("&follow=true"));
    request.headers.add("Accept", "text/event-stream");
    client::EventStream stream;
    const auto on_line = [&](std::string_view line) {
      if (const auto event = stream.take(line)) {
        if (const Result<api::Json> body = api::parse_json(event->data)) take(*body);
        std::cout.flush();
      }
      return left_ > 0;
    };
    (void)(*server)->follow(request, on_line, kSilence);
  }

  void take(api::Json event) {
    std::int64_t index = 0;
    if (event.at_key("index").get(index) != simdjson::SUCCESS || left_ == 0) return;
    next_ = index + 1;
    --left_;
    if (invocation_.flag("json")) {
      print_line(api::to_line(event));
    } else if (const auto field = invocation_.option("field")) {
      std::cout << member(event, *field) << '\n';
    } else {
      print_event(event);
    }
  }

  const Invocation& invocation_;
  std::unique_ptr<Target> target_;
  std::int64_t next_;
  std::int64_t left_;
};

}  // namespace

void print_event(api::Json event) {
  std::string index = member(event, "index");
  if (index.size() < kIndexWidth) index.insert(0, kIndexWidth - index.size(), ' ');
  std::cout << coloured(Colour::faint, index + "  " + member(event, "time")) << "  "
            << member(event, "data") << '\n';
}

int follow_log(const Invocation& invocation) {
  const auto from = invocation.integer("from");
  if (!from) return print_error(invocation, from.error());
  const auto limit = invocation.integer("limit");
  if (!limit) return print_error(invocation, limit.error());
  const std::int64_t most = limit->value_or(std::numeric_limits<std::int64_t>::max());
  if (most < 1) return print_error(invocation, {ErrorCode::invalid, "--limit is at least 1"});
  return Follower(invocation, from->value_or(1), most).run();
}

}  // namespace once::cli

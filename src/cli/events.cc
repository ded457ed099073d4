#include "cli/events.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <limits>
#include <thread>

#include "base/backoff.h"
#include "base/encoding.h"
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

// Ends the process when the reader of its output is gone, as `head -1` is after a line. The next
// write would end it too, but there may be nothing to write for long. Following writes nothing to a
// store, so it can end anywhere.
void end_with_reader() {
  struct stat output{};
  const bool is_pipe =
      fstat(STDOUT_FILENO, &output) == 0 && (S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode));
  if (!is_pipe) return;
  std::thread([] {
    pollfd watched{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
    while (poll(&watched, 1, -1) < 0 && errno == EINTR) {
    }
    if ((watched.revents & (POLLERR | POLLHUP)) != 0) _exit(kDone);
  }).detach();
}

// Reads on from where it is. Every event comes from a read of the log or from the server's stream,
// in the order of indexes; what ends the stream is found out by the next read.
class Follower {
 public:
  Follower(const Invocation& invocation, Showing showing, std::int64_t from, std::int64_t most)
      : invocation_(invocation),
        showing_(showing),
        since_(invocation.option("since").value_or("")),
        target_(open_target(invocation)),
        next_(from),
        left_(most) {}

  // Until it printed as many as were asked for, or something failed.
  int run() {
    Backoff backoff(kPausesBetweenReads, system_clock(), system_entropy());
    while (left_ > 0) {
      const std::int64_t before = next_;
      if (const int exit = read_page(); exit != kDone) return exit;
      if (next_ == before && (closed_ || !showing_.follow)) return kDone;
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
    const std::string where =
        since_.empty() ? "from=" + std::to_string(next_) : "since=" + percent_encode(since_);
    return path_to("logs", invocation_.words[0]) + "?" + where + query;
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
    closed_ = body->at_key("closed").get(closed_) == simdjson::SUCCESS && closed_;
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
    since_.clear();
    --left_;
    if (invocation_.flag("json")) {
      print_line(api::to_line(event));
    } else if (const auto field = invocation_.option("field")) {
      std::cout << member(event, *field) << '\n';
    } else {
      showing_.print(event);
    }
  }

  const Invocation& invocation_;
  const Showing showing_;
  std::string since_;  // Instead of next_, until an event came.
  std::unique_ptr<Target> target_;
  std::int64_t next_;
  std::int64_t left_;
  bool closed_ = false;
};

}  // namespace

void print_event(api::Json event) {
  std::string index = member(event, "index");
  if (index.size() < kIndexWidth) index.insert(0, kIndexWidth - index.size(), ' ');
  std::cout << coloured(Colour::faint, index + "  " + member(event, "time")) << "  "
            << member(event, "data") << '\n';
}

int follow_log(const Invocation& invocation) { return show_log(invocation, {}); }

int show_log(const Invocation& invocation, Showing showing) {
  const auto from = invocation.integer("from");
  if (!from) return print_error(invocation, from.error());
  const auto limit = invocation.integer("limit");
  if (!limit) return print_error(invocation, limit.error());
  const std::int64_t most = limit->value_or(std::numeric_limits<std::int64_t>::max());
  if (most < 1) return print_error(invocation, {ErrorCode::invalid, "--limit is at least 1"});
  end_with_reader();
  return Follower(invocation, showing, from->value_or(1), most).run();
}

}  // namespace once::cli

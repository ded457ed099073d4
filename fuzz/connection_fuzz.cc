// A whole connection: the bytes that a client sends, in pieces as a network delivers them, through
// session, framing, judgement and routes. The first byte says how they are cut.
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "api/first_look.h"
#include "events/event_request.h"
#include "fuzz/record_laws.h"
#include "once/blocking_driver.h"
#include "once/memory_store.h"
#include "server/io_thread.h"
#include "server/session.h"
#include "server/stream.h"
#include "testing/manual_clock.h"

namespace once::fuzz {
namespace {

using boost::system::error_code;

// Small, so that short inputs reach them.
server::Settings settings() {
  server::Settings settings;
  settings.max_header_bytes = 1'024;
  settings.max_body_bytes = 2'048;
  settings.max_document_bytes = 4'096;
  settings.max_pipelined = 4;
  return settings;
}

// A peer that sends what it is told to, and takes everything.
class MemoryStream final : public server::Stream {
 public:
  explicit MemoryStream(boost::asio::io_context& context) : context_(context) {}

  void handshake(Done done) override { finish(std::move(done), {}, 0); }
  void read_some(boost::asio::mutable_buffer room, Done done) override {
    room_ = room;
    reader_ = std::move(done);
  }
  void write(std::string_view bytes, Done done) override {
    require(open_ && !ended_);
    sent_ += bytes.size();
    if (first_.size() < kBegin.size()) first_.append(bytes.substr(0, kBegin.size()));
    finish(std::move(done), {}, bytes.size());
  }
  void end_sending() override { ended_ = true; }
  void close() override {
    open_ = false;
    if (reader_) finish(std::exchange(reader_, nullptr), boost::asio::error::operation_aborted, 0);
  }
  bool is_open() const override { return open_; }
  void discard_unsent() override {}
  std::string local_address() const override { return "127.0.0.1"; }

  // False if nobody reads.
  bool deliver(std::string_view bytes) {
    if (!reader_ || !open_) return false;
    require(bytes.size() <= room_.size());
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(room_.data()));
    finish(std::exchange(reader_, nullptr), {}, bytes.size());
    return true;
  }
  bool end() {
    if (!reader_ || !open_) return false;
    finish(std::exchange(reader_, nullptr), boost::asio::error::eof, 0);
    return true;
  }

  // All that is said is answers.
  void check_answers() const { require(first_.empty() || first_.starts_with(kBegin)); }

 private:
  static constexpr std::string_view kBegin = "HTTP/1.1 ";

  void finish(Done done, error_code error, std::size_t count) {
    boost::asio::post(context_,
                      [done = std::move(done), error, count]() mutable { done(error, count); });
  }

  boost::asio::io_context& context_;
  boost::asio::mutable_buffer room_;
  Done reader_;
  bool open_ = true;
  bool ended_ = false;
  std::size_t sent_ = 0;
  std::string first_;
};

bool is_control(char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 127; }

// The API on a memory store of its own.
struct Api {
  Api() {
    service.set_event_receiver(events);
    require(driver.run(api::learn_secret()).has_value());
  }

  testing::ManualClock clock;
  Entropy entropy{1};
  std::unique_ptr<MemoryStore> store = open_memory({}, clock);
  BlockingDriver driver{*store, clock, entropy};
  events::PlannedEvents events;
  api::Service service;
  bool is_used = false;  // A plan ran: it may know more than a new one.
};

// To make one takes longer than most inputs do, and few inputs use it.
std::unique_ptr<Api>& unused_api() {
  static std::unique_ptr<Api> api;
  return api;
}

// Notes the status of every answer; 0 for what is no request.
class NotingHandler final : public server::Handler {
 public:
  NotingHandler() : api_(std::exchange(unused_api(), nullptr)) {
    if (!api_) api_ = std::make_unique<Api>();
  }
  ~NotingHandler() override {
    if (!api_->is_used) unused_api() = std::move(api_);
  }
  NotingHandler(const NotingHandler&) = delete;
  NotingHandler& operator=(const NotingHandler&) = delete;

  server::Reply respond(api::Request request, Executor&, ReplyCallback) override {
    check(request);
    api::Answer answer = api_->service.respond(request);
    api::Response response;
    if (auto* ready = std::get_if<api::Response>(&answer)) {
      response = std::move(*ready);
    } else {
      api_->is_used = true;
      const Duration patience = answer.waits + kAttemptLife;
      auto ran = api_->driver.run(std::get<Plan<api::Response>>(std::move(answer)), patience);
      response = ran ? std::move(*ran) : api::Service::failed(ran.error());
    }
    statuses.push_back(response.status);
    return response;
  }
  server::Admission admit(const api::Request& request) override {
    auto resolved = api::resolve(api_->service, request);
    if (resolved) return {};
    return {std::move(resolved.error()), nullptr};
  }
  api::BodyLimit body_limit(std::string_view method, std::string_view target) const override {
    const api::RouteMatch match = api::match_route(method, target);
    return match.any_row != nullptr ? match.any_row->body : api::BodyLimit::normal;
  }
  // Which of several reasons is found first may depend on how much is there already.
  void refused(api::Response&) override { statuses.push_back(0); }

  Clock& clock() { return api_->clock; }

  std::vector<int> statuses;

 private:
  // What reaches the API is one request without doubt.
  static void check(const api::Request& request) {
    require(!request.method.empty() && request.method.find(' ') == std::string::npos);
    require(!request.target.empty() && std::ranges::none_of(request.target, is_control));
    require(request.headers.count("Host") <= 1);
    require(request.headers.count("Content-Length") + request.headers.count("Transfer-Encoding") <=
            1);
    require(request.body.size() <= settings().max_document_bytes);
    for (const auto& [name, value] : request.headers.fields()) {
      require(!name.empty() && std::ranges::none_of(name, is_control));
      require(std::ranges::none_of(value, is_control));
    }
  }

  std::unique_ptr<Api> api_;
};

// The statuses of the answers to the bytes, which arrive `piece` at a time.
std::vector<int> statuses_of(std::string_view bytes, std::size_t piece) {
  NotingHandler handler;
  static const server::Settings limits = settings();
  static server::IoThread thread(limits, server::IoThread::Runs::by_caller);  // Has descriptors.
  server::Budgets budgets{{limits.max_bodies_bytes, limits.namespace_share, &api::Tenant::bodies},
                          {limits.max_unsent_bytes, limits.namespace_share, &api::Tenant::unsent}};
  server::Judgement judgement{limits.browsers};
  judgement.listens_on("127.0.0.1");
  server::ConnectionSeats seats;
  {
    const auto stream = std::make_shared<MemoryStream>(thread.context());
    auto session = server::Session::make(
        thread, stream, {thread.settings(), handler, handler.clock(), budgets, judgement, seats},
        {});
    thread.add(session);
    session->start();
    thread.context().poll();
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      if (!stream->deliver(bytes.substr(0, piece))) break;
      thread.context().poll();
    }
    stream->end();
    thread.context().poll();
    stream->check_answers();
    require(thread.count() == 0);  // Who has ended has nothing to wait for.
  }
  require(budgets.bodies.taken() == 0 && budgets.answers.taken() == 0);
  return handler.statuses;
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  using namespace once::fuzz;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::size_t kMost = 16'000;
  // How bytes are cut on their way changes nothing of what they mean.
  const std::size_t piece = data[0] + 1U;
  const std::vector<int> whole = statuses_of(bytes, kMost);
  if (piece < bytes.size()) require(whole == statuses_of(bytes, piece));
  return 0;
}

#include "load/load.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <memory>
#include <optional>
#include <thread>

#include "net/tls.h"
#include "once/entropy.h"

namespace once::load {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr auto kProgressEvery = std::chrono::milliseconds(250);

// Latencies by the leading bits: 32 steps for each power of two, so within 3 %.
class Histogram {
 public:
  void add(nanoseconds latency) {
    ++counts_[slot(static_cast<std::uint64_t>(latency.count()))];
    ++total_;
    slowest_ = std::max(slowest_, latency);
  }
  nanoseconds at(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t passed = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      passed += counts_[i];
      if (passed > wanted) return nanoseconds(static_cast<std::int64_t>(value(i)));
    }
    return slowest_;
  }
  nanoseconds slowest() const { return slowest_; }

 private:
  static constexpr unsigned kBits = 5;

  static std::size_t slot(std::uint64_t value) {
    if (value < (1U << kBits)) return value;
    const auto power = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
    return ((power + 1) << kBits) + (value >> power) - (1U << kBits);
  }
  static std::uint64_t value(std::size_t slot) {
    if (slot < (1U << kBits)) return slot;
    const std::size_t power = (slot >> kBits) - 1;
    return ((slot & ((1U << kBits) - 1)) + (1U << kBits)) << power;
  }

  std::array<std::uint64_t, 60U << kBits> counts_ = {};
  std::uint64_t total_ = 0;
  nanoseconds slowest_{0};
};

// Closes what epoll has.
class Poll {
 public:
  Poll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~Poll() { ::close(fd_); }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

constexpr auto kServerStartsWithin = std::chrono::seconds(3);
constexpr auto kServerReadsWithin = std::chrono::seconds(30);

using Tls = std::unique_ptr<net::TlsContext>;  // Null: plain HTTP.

Result<Tls> tls_of(const LoadOptions& options) {
  if (!options.tls) return nullptr;
  return net::make_tls_context({options.files.certificate, options.files.key, options.files.ca});
}

Result<std::unique_ptr<net::Channel>> try_connect(const LoadOptions& options, const Tls& tls) {
  const net::Until until(Clock::now() + kServerStartsWithin);
  Result<net::Socket> socket = net::connect_to({options.host, options.port}, until);
  if (!socket) return std::unexpected(std::move(socket.error()));
  if (tls == nullptr) return net::plain_channel(std::move(*socket));
  return tls->wrap(std::move(*socket), options.host, until);
}

// A server that was started just before may take a moment.
Result<std::unique_ptr<net::Channel>> connect_to(const LoadOptions& options, const Tls& tls) {
  const auto until = Clock::now() + kServerStartsWithin;
  for (;;) {
    Result<std::unique_ptr<net::Channel>> channel = try_connect(options, tls);
    if (channel || !is_transient(channel.error()) || Clock::now() >= until) return channel;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// The length of the whole answer at the front of `text`, or 0 if it is not complete yet.
std::size_t whole_answer(std::string_view text) {
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  constexpr std::string_view kLength = "Content-Length: ";
  std::size_t body = 0;
  const std::size_t at = text.find(kLength);
  if (at < head) {
    const std::string_view digits = text.substr(at + kLength.size());
    const char* const start = std::to_address(digits.begin());
    std::from_chars(start, start + digits.size(), body);
  }
  const std::size_t length = head + 4 + body;
  return text.size() >= length ? length : 0;
}

// One client: sends a request, waits for its answer, sends the next.
class Client {
 public:
  Client(std::unique_ptr<net::Channel> channel, const LoadOptions& options, const std::string& run,
         unsigned number)
      : channel_(std::move(channel)), options_(options), run_(run), number_(number) {}

  int fd() const { return channel_->descriptor(); }

  Result<void> send_next() {
    const std::string request = request_of(options_, run_, number_, sent_++);
    sent_at_ = Clock::now();
    std::string_view rest = request;
    while (!rest.empty() || channel_->wants() != 0) {
      const auto sent = rest.empty() ? flush() : channel_->send(rest);
      if (!sent) return failure(ErrorCode::unavailable, "the server hung up");
      rest.remove_prefix(*sent);
      const bool waits = *sent == 0 || channel_->wants() != 0;
      if (waits && !net::wait_for(fd(), POLLOUT, Clock::now() + kServerReadsWithin)) {
        return failure(ErrorCode::unavailable, "the server does not read");
      }
    }
    return {};
  }

  // True once an answer is complete; then its status is known.
  Result<bool> receive() {
    std::array<char, 8U << 10> some;  // Answers are short, and the compiler clears it.
    std::size_t length = 0;
    while (length == 0) {
      const auto count = channel_->receive(some);
      if (!count) return failure(ErrorCode::unavailable, "the server hung up");
      if (*count == 0) return false;
      in_.append(some.data(), *count);
      length = whole_answer(in_);
    }
    const bool prepares = options_.workload == Workload::patch && sent_ == 1;
    succeeded_ = prepares || (in_.size() > 9 && in_[9] == '2');
    in_.erase(0, length);
    return true;
  }

  bool succeeded() const { return succeeded_; }
  nanoseconds latency() const { return Clock::now() - sent_at_; }

 private:
  // What was taken and is not on its way yet.
  std::optional<std::size_t> flush() {
    (void)channel_->is_idle();
    return 0;
  }

  const std::unique_ptr<net::Channel> channel_;
  const LoadOptions& options_;
  const std::string& run_;
  const unsigned number_;
  std::uint64_t sent_ = 0;
  Clock::time_point sent_at_;
  std::string in_;
  bool succeeded_ = false;
};

class Drive {
 public:
  explicit Drive(const LoadOptions& options) : options_(options) {}

  Result<void> start() {
    run_ = "bench-" + std::to_string(system_entropy().random() % 1'000'000'000);
    const Result<Tls> tls = tls_of(options_);
    if (!tls) return std::unexpected(tls.error());
    for (unsigned i = 0; i < options_.clients; ++i) {
      Result<std::unique_ptr<net::Channel>> channel = connect_to(options_, *tls);
      if (!channel) return std::unexpected(std::move(channel.error()));
      clients_.push_back(std::make_unique<Client>(std::move(*channel), options_, run_, i));
      epoll_event event{.events = EPOLLIN, .data = {.u32 = i}};
      ::epoll_ctl(poll_.fd(), EPOLL_CTL_ADD, clients_.back()->fd(), &event);
    }
    started_ = Clock::now();
    for (auto& client : clients_) {
      if (Result<void> sent = client->send_next(); !sent) return sent;
    }
    return {};
  }

  Result<LoadReport> run(const std::function<void(const LoadReport&)>& progress) {
    const auto end = started_ + options_.length;
    auto next = started_ + kProgressEvery;
    for (auto now = started_; now < end; now = Clock::now()) {
      if (Result<void> ok = wait_once(); !ok) return std::unexpected(std::move(ok.error()));
      if (now >= next) {
        progress(report());
        next = now + kProgressEvery;
      }
    }
    return report();
  }

 private:
  Result<void> wait_once() {
    std::array<epoll_event, 256> events;
    const int count = ::epoll_wait(poll_.fd(), events.data(), events.size(), 100);
    for (int i = 0; i < count; ++i) {
      Client& client = *clients_[events[static_cast<std::size_t>(i)].data.u32];
      const Result<bool> whole = client.receive();
      if (!whole) return std::unexpected(whole.error());
      if (!*whole) continue;
      latencies_.add(client.latency());
      ++requests_;
      failed_ += client.succeeded() ? 0 : 1;
      if (Result<void> sent = client.send_next(); !sent) return sent;
    }
    return {};
  }

  LoadReport report() const {
    return {requests_,
            requests_ * options_.batch,
            failed_,
            Clock::now() - started_,
            latencies_.at(0.5),
            latencies_.at(0.9),
            latencies_.at(0.99),
            latencies_.slowest()};
  }

  const LoadOptions options_;
  Poll poll_;
  std::string run_;
  std::vector<std::unique_ptr<Client>> clients_;
  Histogram latencies_;
  std::uint64_t requests_ = 0;
  std::uint64_t failed_ = 0;
  Clock::time_point started_;
};

}  // namespace

Result<LoadReport> drive(const LoadOptions& options,
                         const std::function<void(const LoadReport&)>& progress) {
  Drive drive(options);
  if (Result<void> started = drive.start(); !started) {
    return std::unexpected(std::move(started.error()));
  }
  return drive.run(progress);
}

}  // namespace once::load

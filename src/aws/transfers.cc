#include "aws/transfers.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "aws/exchange.h"

namespace once::aws {
namespace {

using std::chrono::steady_clock;

CURLM* make_multi(const TransferOptions& options) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM* const multi = started == CURLE_OK ? curl_multi_init() : nullptr;
  if (multi == nullptr) std::abort();  // Only where memory has run out.
  const auto connections = static_cast<long>(options.connections);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
  curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections);
  return multi;
}

int milliseconds_until(Deadline deadline, int limit) {
  const auto left = std::chrono::ceil<Duration>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, limit));
}

}  // namespace

struct Transfers::Batch {
  Mutex mutex;
  std::condition_variable done;
  std::size_t left ONCE_GUARDED_BY(mutex);

  explicit Batch(std::size_t size) : left(size) {}

  // The caller may be gone as soon as the lock is released, so the signal is given under it.
  void finish_one() {
    const Lock lock(mutex);
    if (--left == 0) done.notify_all();
  }

  void wait() {
    Lock lock(mutex);
    while (left > 0) done.wait(lock.native());
  }
};

// What the thread alone knows.
class Transfers::Loop {
 public:
  explicit Loop(Transfers& owner) : owner_(owner), multi_(owner.multi_) {}

  void run() {
    while (take_arrived()) {
      expire_waiting();
      begin_waiting();
      int running = 0;
      curl_multi_perform(multi_, &running);
      if (finish_done()) continue;  // Their places are free: begin others before waiting.
      curl_multi_poll(multi_, nullptr, 0, pause(), nullptr);
    }
    abandon();
  }

 private:
  struct Under {
    Job job;
    std::unique_ptr<Exchange> exchange;
  };
  static constexpr int kLongestPause = 60'000;

  bool take_arrived() {
    const Lock lock(owner_.mutex_);
    waiting_.insert(waiting_.end(), owner_.arrived_.begin(), owner_.arrived_.end());
    owner_.arrived_.clear();
    return !owner_.stopping_;
  }

  void expire_waiting() {
    const auto now = steady_clock::now();
    std::erase_if(waiting_, [now](const Job& job) {
      if (job.deadline > now) return false;
      refuse(job, "no connection was free before the deadline");
      return true;
    });
  }

  void begin_waiting() {
    while (!waiting_.empty() && under_way_.size() < owner_.options_.connections) {
      begin(waiting_.front());
      waiting_.pop_front();
    }
  }

  void begin(const Job& job) {
    std::unique_ptr<Exchange> exchange;
    if (idle_.empty()) {
      exchange = std::make_unique<Exchange>();
    } else {
      exchange = std::move(idle_.back());
      idle_.pop_back();
    }
    exchange->begin(*job.transfer, owner_.options_, owner_.clock_,
                    std::max(milliseconds_until(job.deadline, kLongestTransfer), 1));
    if (curl_multi_add_handle(multi_, exchange->handle()) != CURLM_OK) {
      refuse(job, "out of memory");
      return;
    }
    under_way_.push_back({job, std::move(exchange)});
  }

  bool finish_done() {
    bool any = false;
    int left = 0;
    for (CURLMsg* message = nullptr; (message = curl_multi_info_read(multi_, &left)) != nullptr;) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto of = std::ranges::find(under_way_, message->easy_handle, [](const Under& under) {
        return under.exchange->handle();
      });
      const CURLcode result = message->data.result;
      curl_multi_remove_handle(multi_, message->easy_handle);
      finish(std::move(*of), result);
      under_way_.erase(of);
      any = true;
    }
    return any;
  }

  void finish(Under under, CURLcode result) {
    under.job.transfer->asked = under.exchange->sent();
    under.job.transfer->answered = owner_.clock_.now();
    under.job.transfer->answer = under.exchange->end(result);
    idle_.push_back(std::move(under.exchange));
    under.job.batch->finish_one();
  }

  // Until the next of those that wait for a place expires; libcurl knows about the others.
  int pause() const {
    Deadline next = Deadline::max();
    for (const Job& job : waiting_) next = std::min(next, job.deadline);
    return next == Deadline::max() ? kLongestPause : milliseconds_until(next, kLongestPause);
  }

  // No call may be in perform() when the owner is destroyed; one that is gets an error.
  void abandon() {
    for (Under& under : under_way_) {
      curl_multi_remove_handle(multi_, under.exchange->handle());
      finish(std::move(under), CURLE_ABORTED_BY_CALLBACK);
    }
    for (const Job& job : waiting_) refuse(job, "the client is closing");
  }

  static void refuse(const Job& job, const char* why) {
    job.transfer->answer = failure(ErrorCode::unavailable, why);
    job.batch->finish_one();
  }

  static constexpr int kLongestTransfer = 24 * 3'600'000;

  Transfers& owner_;
  CURLM* const multi_;
  std::deque<Job> waiting_;
  std::vector<Under> under_way_;
  std::vector<std::unique_ptr<Exchange>> idle_;
};

Transfers::Transfers(TransferOptions options, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      multi_(make_multi(options_)),
      thread_([this] { run(); }) {}

Transfers::~Transfers() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  curl_multi_wakeup(multi_);
  thread_.join();
  curl_multi_cleanup(multi_);
}

void Transfers::run() {
  // OpenSSL writes to closed connections without a thought of SIGPIPE; and a program's own handlers
  // are for its own threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  Loop(*this).run();
}

void Transfers::perform(std::span<Transfer> transfers, Deadline deadline) {
  if (transfers.empty()) return;
  Batch batch(transfers.size());
  {
    const Lock lock(mutex_);
    for (Transfer& transfer : transfers) arrived_.push_back({&transfer, &batch, deadline});
  }
  curl_multi_wakeup(multi_);
  batch.wait();
}

}  // namespace once::aws

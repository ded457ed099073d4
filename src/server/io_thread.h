// One thread of network input and output. Each connection belongs to one such thread and needs no
// lock.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "once/batching_driver.h"

namespace once::server {

class Session;

class IoThread final : public Executor {
 public:
  IoThread();
  ~IoThread() override;

  // Ends every connection and the thread. Tasks given to post() from now on never run.
  void stop();

  boost::asio::io_context& context() { return context_; }

  // Runs `task` on this thread, soon. May be called from any thread; several calls in a row wake
  // the thread once.
  void post(std::move_only_function<void()> task) override;

  bool is_here() const { return std::this_thread::get_id() == thread_.get_id(); }

  // To be called on this thread only.
  void add(const std::shared_ptr<Session>& session);
  void remove(Session* session);
  std::size_t count() const { return count_; }  // May be called from any thread.
  void finish_all();  // Each connection ends as soon as it owes no answer.

 private:
  void run_tasks();
  void tick();
  void arm();

  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;

  std::atomic<std::size_t> count_ = 0;  // Of the sessions.

  Mutex mutex_;
  std::vector<std::move_only_function<void()>> tasks_ ONCE_GUARDED_BY(mutex_);

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace once::server

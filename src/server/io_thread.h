// One thread of network input and output. Each connection belongs to one such thread and needs no
// lock.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "once/batching_driver.h"
#include "server/server.h"

namespace once::server {

class Session;

class IoThread final : public Executor {
 public:
  // Runs by itself, or whenever the thread that made it calls context().poll().
  enum class Runs : std::uint8_t { by_itself, by_caller };
  explicit IoThread(const Settings& settings, Runs runs = Runs::by_itself);
  ~IoThread() override;

  // Ends every connection and the thread. Tasks given to post() from now on never run.
  void stop();

  boost::asio::io_context& context() { return context_; }

  // Runs `task` on this thread, soon. May be called from any thread; several calls in a row wake
  // the thread once.
  void post(std::move_only_function<void()> task) override;

  bool is_here() const { return std::this_thread::get_id() == here_; }

  // To be called on this thread only.
  const Settings& settings() const { return settings_; }
  void set_settings(const Settings& settings) { settings_ = settings; }
  void add(const std::shared_ptr<Session>& session);
  void remove(Session* session);
  std::size_t count() const { return count_; }  // May be called from any thread.
  void finish_all();  // Each connection ends as soon as it owes no answer.

  // When a connection last had something to do, as seen at the last tick. At first, the start. May
  // be called from any thread.
  std::chrono::steady_clock::time_point last_active() const { return last_active_; }

 private:
  void end_all();
  void run_tasks();
  void tick();
  void arm();
  void note_activity(const Session& session, std::chrono::steady_clock::time_point now);

  Settings settings_;  // Its own copy, so that changing it needs no lock.
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  std::unordered_map<Session*, std::shared_ptr<Session>> sessions_;

  std::atomic<std::size_t> count_ = 0;  // Of the sessions.
  std::atomic<std::chrono::steady_clock::time_point> last_active_ =
      std::chrono::steady_clock::now();

  Mutex mutex_;
  std::vector<std::move_only_function<void()>> tasks_ ONCE_GUARDED_BY(mutex_);

  std::atomic<std::thread::id> here_;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace once::server

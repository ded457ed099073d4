#include "server/io_thread.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <utility>

#include "server/session.h"

namespace once::server {
namespace {

constexpr std::chrono::milliseconds kTick{250};

// What was posted runs for so long before the thread looks at its connections again.
constexpr std::chrono::milliseconds kSlice{1};

}  // namespace

IoThread::IoThread(const Settings& settings, Runs runs)
    : settings_(settings), work_(context_.get_executor()), timer_(context_) {
  arm();
  if (runs == Runs::by_caller) {
    here_ = std::this_thread::get_id();
    return;
  }
  thread_ = std::thread([this] {
    here_ = std::this_thread::get_id();
    context_.run();
  });
}

IoThread::~IoThread() { stop(); }

void IoThread::stop() {
  if (here_.load() == std::this_thread::get_id()) return end_all();
  if (!thread_.joinable()) return;
  boost::asio::post(context_, [this] { end_all(); });
  thread_.join();
}

void IoThread::end_all() {
  timer_.cancel();
  for (const auto& [raw, session] : std::exchange(sessions_, {})) session->abort();
  work_.reset();
  context_.stop();
}

void IoThread::post(std::move_only_function<void()> task) {
  {
    const Lock lock(mutex_);
    tasks_.push_back(std::move(task));
    if (tasks_.size() > 1) return;
  }
  boost::asio::post(context_, [this] { run_tasks(); });
}

void IoThread::run_tasks() {
  std::vector<std::move_only_function<void()>> tasks;
  {
    const Lock lock(mutex_);
    tasks.swap(tasks_);
  }
  const auto end = std::chrono::steady_clock::now() + kSlice;
  std::size_t done = 0;
  while (done < tasks.size()) {
    std::exchange(tasks[done++], nullptr)();  // What it holds, such as a long answer, goes at once.
    if (done < tasks.size() && std::chrono::steady_clock::now() >= end) break;
  }
  if (done == tasks.size()) return;
  {
    const Lock lock(mutex_);
    tasks_.insert(tasks_.begin(), std::move_iterator(tasks.begin() + static_cast<long>(done)),
                  std::move_iterator(tasks.end()));
  }
  boost::asio::post(context_, [this] { run_tasks(); });
}

void IoThread::add(const std::shared_ptr<Session>& session) {
  sessions_.emplace(session.get(), session);
  count_ = sessions_.size();
}

void IoThread::remove(Session* session) {
  if (sessions_.contains(session)) note_activity(*session, std::chrono::steady_clock::now());
  sessions_.erase(session);
  count_ = sessions_.size();
}

void IoThread::finish_all() {
  const auto sessions = sessions_;  // Each may remove itself.
  for (const auto& [raw, session] : sessions) session->finish();
}

void IoThread::arm() {
  timer_.expires_after(kTick);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

// One timer for all connections: a deadline fires up to one tick late, but moving it is free.
void IoThread::tick() {
  const auto sessions = sessions_;
  const auto now = std::chrono::steady_clock::now();
  for (const auto& [raw, session] : sessions) {
    note_activity(*session, now);
    session->end_if_late(now);
  }
  arm();
}

void IoThread::note_activity(const Session& session, std::chrono::steady_clock::time_point now) {
  last_active_ = std::max(last_active_.load(), session.last_active(now));
}

}  // namespace once::server

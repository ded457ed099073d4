#include "server/io_thread.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "server/session.h"

namespace once::server {
namespace {

constexpr std::chrono::milliseconds kTick{250};

}  // namespace

IoThread::IoThread() : work_(context_.get_executor()), timer_(context_) {
  arm();
  thread_ = std::thread([this] { context_.run(); });
}

IoThread::~IoThread() { stop(); }

void IoThread::stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(context_, [this] {
    timer_.cancel();
    for (const auto& [raw, session] : std::exchange(sessions_, {})) session->abort();
    work_.reset();
    context_.stop();
  });
  thread_.join();
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
  for (auto& task : tasks) task();
}

void IoThread::add(const std::shared_ptr<Session>& session) {
  sessions_.emplace(session.get(), session);
  count_ = sessions_.size();
}

void IoThread::remove(Session* session) {
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
  for (const auto& [raw, session] : sessions) session->end_if_late(now);
  arm();
}

}  // namespace once::server

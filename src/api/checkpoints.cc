#include "api/checkpoints.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "api/call.h"
#include "wire/text.h"

namespace once::api {
namespace {

namespace fs = std::filesystem;

constexpr Duration kPollEvery = std::chrono::milliseconds(10);

// The time without characters that are special in a shell or path: 20261116T081500.123Z.
std::string name_of(Time time) {
  std::string name = format_time(time);
  std::erase(name, '-');
  std::erase(name, ':');
  return name;
}

std::unexpected<Error> unusable(const fs::path& path, const std::error_code& error) {
  return failure(ErrorCode::unavailable, path.string() + ": " + error.message());
}

// Polls, because the driver must not block on the disk.
Plan<Response> copy_store(Checkpoints* checkpoints) {
  const Time now = co_await store_now();
  const std::shared_ptr<const Checkpoints::Job> job = checkpoints->begin(now);
  if (!job) {
    co_return Problem(Code::busy, "a checkpoint is being made")
        .retry_after(std::chrono::seconds(1))
        .finish();
  }
  while (!job->done.load(std::memory_order_acquire)) co_await pause(kPollEvery);
  if (!job->outcome) co_return problem(job->outcome.error());
  JsonObject body;
  body.text("directory", job->directory.string()).time("made_at", now);
  co_return json_response(201, body.finish());
}

}  // namespace

Checkpoints::Checkpoints(const fs::path& store, Make make)
    : home_(fs::absolute(store) / "checkpoints"), make_(std::move(make)) {}

Checkpoints::~Checkpoints() {
  const Lock lock(mutex_);
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const Checkpoints::Job> Checkpoints::begin(Time now) {
  const Lock lock(mutex_);
  if (latest_ && !latest_->done.load(std::memory_order_acquire)) return nullptr;
  if (thread_.joinable()) thread_.join();
  latest_ = std::make_shared<Job>();
  latest_->directory = home_ / name_of(now);
  thread_ = std::thread([this, job = latest_] {
    job->outcome = perform(job->directory);
    job->done.store(true, std::memory_order_release);
  });
  return latest_;
}

Result<void> Checkpoints::perform(const fs::path& to) const {
  std::error_code error;
  if (::mkdir(home_.c_str(), S_IRWXU) != 0) {
    const std::error_code why(errno, std::generic_category());
    if (!fs::is_directory(fs::symlink_status(home_, error))) return unusable(home_, why);
  }
  std::size_t there = 0;
  for (fs::directory_iterator it(home_, error), end; !error && it != end; it.increment(error)) {
    ++there;
  }
  if (error) return unusable(home_, error);
  if (there < kMost) return make_(to);
  std::string message = "there are ";
  message.append(std::to_string(there)).append(" checkpoints; remove some: ");
  return failure(ErrorCode::unavailable, message.append(home_.string()));
}

Answer make_checkpoint(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  Checkpoints* const checkpoints = call.service.options().checkpoints;
  if (checkpoints == nullptr) {
    return problem(Code::unsupported, "only a store that is a directory has checkpoints");
  }
  return copy_store(checkpoints);
}

}  // namespace once::api

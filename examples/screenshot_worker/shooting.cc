#include "shooting.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "picture.h"

namespace screenshot_worker {
namespace {

std::unexpected<once::Error> failed(const std::filesystem::path& path) {
  const std::string why = std::generic_category().message(errno);
  return once::failure(once::ErrorCode::unavailable, path.string() + ": " + why);
}

class File {
 public:
  explicit File(const std::filesystem::path& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  bool sync() { return ::fsync(descriptor_) == 0; }

 private:
  const int descriptor_;
};

// As long as a browser would take, unless the job is another's by now.
bool rendered(const Studio& studio, const once::Task& task) {
  const auto until = std::chrono::steady_clock::now() + studio.render_time;
  while (std::chrono::steady_clock::now() < until) {
    if (task.stopped.stop_requested()) return false;
    std::this_thread::sleep_for(std::min<once::Duration>(studio.render_time, once::Duration(10)));
  }
  return true;
}

}  // namespace

once::Result<std::string> keep(const std::filesystem::path& shots, const Job& job,
                               std::int64_t fence, std::string_view picture) {
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::absolute(shots, error);
  std::filesystem::create_directories(directory, error);  // If not, opening a file in it will say.
  const std::filesystem::path path = directory / (job.id + "." + std::to_string(fence) + ".png");
  const std::filesystem::path draft = path.string() + ".draft";
  {
    File file(draft, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.is_open() || !file.write(picture) || !file.sync()) return failed(draft);
  }
  std::filesystem::rename(draft, path, error);
  if (error) return once::failure(once::ErrorCode::unavailable, error.message());
  File entries(directory, O_RDONLY | O_DIRECTORY);  // The name must outlast a power cut, too.
  if (!entries.is_open() || !entries.sync()) return failed(directory);
  return "file://" + path.string();
}

once::Result<once::Effects> shoot(const Studio& studio, once::Task& task) {
  const once::Result<Job> job = job_in(task.message.body);
  if (!job) return task.attempt.give_up(job.error().message);
  if (!rendered(studio, task)) return task.attempt.retry_later("another worker has this job now");
  const auto address = keep(studio.shots, *job, task.attempt.fence(), picture_of(*job));
  if (!address) return task.attempt.retry_later(address.error());
  return once::Effects().result(*address).append(studio.stream, job->id + " " + *address);
}

}  // namespace screenshot_worker

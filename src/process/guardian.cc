#include "process/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

namespace once::process {
namespace {

[[noreturn]] void guard(int lifeline) {
  (void)::setsid();
  std::set<pid_t> groups;
  for (;;) {
    pid_t word = 0;  // A pipe writes so little in one piece.
    const auto count = ::read(lifeline, &word, sizeof word);
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(sizeof word)) break;
    if (word > 0) groups.insert(word);
    if (word < 0) groups.erase(-word);
  }
  for (const pid_t group : groups) (void)::kill(-group, SIGKILL);
  ::_exit(0);
}

}  // namespace

Result<Guardian> Guardian::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return failure(ErrorCode::unavailable, std::system_category().message(errno));
  }
  const pid_t pid = ::fork();
  if (pid < 0) return failure(ErrorCode::unavailable, std::system_category().message(errno));
  if (pid == 0) {
    // Closes all else: others may wait for the end of what it would keep open.
    const int lifeline = ::dup2(ends[0], 0);
    (void)::close_range(1, ~0U, 0);
    guard(lifeline);
  }
  ::close(ends[0]);
  return Guardian(pid, ends[1]);
}

Guardian::Guardian(Guardian&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), lifeline_(std::exchange(other.lifeline_, -1)) {}

Guardian::~Guardian() {
  if (lifeline_ >= 0) ::close(lifeline_);
  if (pid_ > 0) (void)::waitpid(pid_, nullptr, 0);
}

void Guardian::send(pid_t word) const { (void)!::write(lifeline_, &word, sizeof word); }

}  // namespace once::process

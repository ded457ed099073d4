#include "work/door/command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "process/process.h"
#include "wire/effects.h"

namespace once::work {
namespace {

using process::Keep;

constexpr std::size_t kMaxErrors = 4U << 10;  // Bytes of the end of standard error.

process::Environment environment_of(const Task& task) {
  return {{"ONCE_KEY", task.attempt.key()},
          {"ONCE_FENCE", std::to_string(task.attempt.fence())},
          {"ONCE_ATTEMPT", std::to_string(task.attempt.number())},
          {"ONCE_MESSAGE_ID", task.message.id},
          {"ONCE_CONTENT_TYPE", task.message.content_type},
          {"ONCE_EFFECTS_FD", std::to_string(kEffectsDescriptor)}};
}

process::Command command_for(const std::vector<std::string>& words, const Task& task,
                             const process::Lifetime& lifetime) {
  return {.words = words,
          .environment = environment_of(task),
          .input = task.message.body,
          .outputs = {{.descriptor = STDERR_FILENO,
                       .pass_to = STDERR_FILENO,
                       .keep = {.most = kMaxErrors, .part = Keep::Part::last}},
                      {.descriptor = kEffectsDescriptor, .keep = {.most = kMaxEffectsText}}},
          .lifetime = lifetime};
}

// "exit code 3: " and the last line of its errors.
std::string reason_of(int status, std::string_view errors) {
  std::string reason = WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                                           : "exit code " + std::to_string(WEXITSTATUS(status));
  const std::size_t end = errors.find_last_not_of('\n');
  if (end == std::string_view::npos) return reason;
  const std::size_t line = errors.find_last_of('\n', end);
  const std::size_t begin = line == std::string_view::npos ? 0 : line + 1;
  return reason.append(": ").append(errors, begin, end + 1 - begin);
}

Result<Effects> effects_of(const process::Finished& finished) {
  const process::Captured& errors = finished.outputs[0];
  const process::Captured& effects = finished.outputs[1];
  if (finished.status != 0) {
    return failure(ErrorCode::unavailable, reason_of(finished.status, errors.bytes));
  }
  if (effects.cut) return failure(ErrorCode::too_large, "its effects are larger than 1 MiB");
  if (effects.bytes.find_first_not_of(" \t\r\n") == std::string::npos) return Effects();
  Result<Effects> parsed = api::decode_effects(effects.bytes);
  if (parsed) return parsed;
  return failure(ErrorCode::invalid, "its effects are none: " + parsed.error().message);
}

}  // namespace

Handler command_handler(std::vector<std::string> words, Duration lease,
                        const process::Guardian& guardian) {
  return [words = std::move(words), lease, &guardian](Task& task) -> Result<Effects> {
    const auto lifetime = [&task, lease] {
      return process::Lifetime::of_lease(task.attempt.lease_until(), lease);
    };
    const auto started = process::Process::start(command_for(words, task, lifetime()), guardian);
    if (!started) {
      task.lease_ended = lifetime().is_over();
      return std::unexpected(started.error());
    }
    process::Process& process = **started;
    const std::stop_callback on_stop(task.stopped, [&process] { process.stop(); });
    const Renewals::Callback on_renewal(task.renewals, [&] { process.extend(lifetime()); });
    process.extend(lifetime());  // A renewal may have come before it could be told of.
    const process::Finished finished = process.wait();
    const bool succeeded = finished.status == 0 && !finished.stopped;
    task.lease_ended = !succeeded && (finished.stopped || finished.warned);
    if (task.lease_ended) return failure(ErrorCode::unavailable, "the lease was lost");
    return effects_of(finished);
  };
}

}  // namespace once::work

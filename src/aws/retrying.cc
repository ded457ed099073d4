#include "aws/retrying.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "aws/message.h"
#include "once/write.h"

namespace once::aws {
namespace {

constexpr PauseBounds kPauses{.first = Duration(20), .longest = Duration(2'000)};

// The error's code; empty for a success.
std::optional<ErrorCode> code_of(const Result<Response>& answer) {
  if (!answer) return answer.error().code;
  if (answer->status < 300) return std::nullopt;
  return error_of(*answer).code;
}

// One request of a call, over all its attempts.
class Trial {
 public:
  // True if it may be sent again after this answer.
  bool take(Result<Response> answer, const Request& request) {
    const std::optional<ErrorCode> code = code_of(answer);
    const bool says_nothing = code == ErrorCode::unavailable || code == ErrorCode::denied;
    unknown_ |= code == ErrorCode::unknown;
    if (unknown_ && says_nothing) {
      answer = failure(ErrorCode::unknown, "the reply was lost, and sending it again did not help");
    }
    answer_ = std::move(answer);
    return code == ErrorCode::unavailable || (code == ErrorCode::unknown && request.repeatable);
  }

  Result<Response> answer() && { return std::move(answer_); }

 private:
  Result<Response> answer_ = failure(ErrorCode::unavailable, "not sent");
  bool unknown_ = false;
};

}  // namespace

Result<Response> Retrying::send(const Request& request, Deadline deadline) {
  return std::move(send(std::span(&request, 1), deadline).front());
}

std::vector<Result<Response>> Retrying::send(std::span<const Request> requests, Deadline deadline) {
  const auto left = std::chrono::floor<Duration>(deadline - std::chrono::steady_clock::now());
  Backoff backoff(kPauses, clock_, entropy_, later(clock_.now(), std::min(left, kAttemptLife)));
  std::vector<Trial> trials(requests.size());
  std::vector<std::size_t> open(requests.size());
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  std::vector<Request> repeated;  // Copies, made only of what is sent again.
  std::span<const Request> batch = requests;
  while (!open.empty()) {
    std::vector<Result<Response>> answers = client_.send(batch, deadline);
    std::vector<std::size_t> again;
    std::vector<Request> next;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!trials[open[i]].take(std::move(answers[i]), batch[i])) continue;
      again.push_back(open[i]);
      next.push_back(batch[i]);
    }
    open = std::move(again);
    repeated = std::move(next);
    batch = repeated;
    if (open.empty() || !backoff.pause()) break;
  }
  std::vector<Result<Response>> answers;
  for (Trial& trial : trials) answers.push_back(std::move(trial).answer());
  return answers;
}

}  // namespace once::aws

#include "events/delivery.h"

#include <set>
#include <string_view>
#include <utility>

#include "events/answers.h"

namespace once::events {
namespace {

constexpr std::size_t kMarks = 64;
constexpr std::size_t kForwards = 16;
constexpr std::size_t kRecords = 4;

// How many events of a request run at once. Few if they only record: their appends meet at the end
// of one log, where many are no faster.
std::size_t at_once(const std::vector<EventPart>& parts) {
  std::size_t most = kMarks;
  for (const EventPart& part : parts) {
    const auto* const work = std::get_if<SharedWork>(&part);
    if (work == nullptr) continue;
    if ((*work)->forwards()) return kForwards;
    if ((*work)->records()) most = kRecords;
  }
  return most;
}

}  // namespace

Delivery::Delivery(EventRequest request, ForwardContext context, Done done)
    : batch_(request.batch),
      context_(std::move(context)),
      parts_(std::move(request.parts)),
      at_once_(at_once(parts_)),
      answers_(parts_.size()),
      done_(std::move(done)) {
  std::set<std::string_view> claims;
  std::vector<std::size_t> repeats;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (const auto* answer = std::get_if<Response>(&parts_[i])) {
      answers_[i] = *answer;
    } else {
      (claims.insert(work(i)->claim).second ? order_ : repeats).push_back(i);
    }
  }
  firsts_ = order_.size();
  order_.insert(order_.end(), repeats.begin(), repeats.end());
}

std::optional<std::size_t> Delivery::next() {
  const Lock lock(mutex_);
  const bool is_repeat = started_ >= firsts_;
  if (started_ == order_.size() || started_ - through_ >= at_once_) return std::nullopt;
  if (is_repeat && through_ < firsts_) return std::nullopt;
  return order_[started_++];
}

void Delivery::answered(std::size_t index, Response answer) {
  {
    const Lock lock(mutex_);
    answers_[index] = std::move(answer);
    ++through_;
  }
  end_if_done();
}

bool Delivery::take_done() { return through_ == order_.size() && !std::exchange(ended_, true); }

void Delivery::end_if_done() {
  {
    const Lock lock(mutex_);
    if (!take_done()) return;
  }
  finish();
}

// Called once, when nothing else uses the answers.
void Delivery::finish() {
  std::vector<Response> answers;
  {
    const Lock lock(mutex_);
    answers = std::move(answers_);
  }
  done_(batch_ ? batch_response(answers) : std::move(answers.front()));
}

}  // namespace once::events

#include "events/delivery.h"

#include <map>
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
      next_of_log_(parts_.size()),
      at_once_(at_once(parts_)),
      answers_(parts_.size()),
      done_(std::move(done)) {
  std::set<std::string_view> claims;
  std::vector<std::size_t> firsts;
  std::vector<std::size_t> repeats;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (const auto* answer = std::get_if<Response>(&parts_[i])) {
      answers_[i] = *answer;
    } else {
      (claims.insert(work(i)->claim).second ? firsts : repeats).push_back(i);
    }
  }
  firsts_ = firsts.size();
  all_ = firsts.size() + repeats.size();
  const std::vector<std::size_t> ready = plan(firsts);
  ready_.assign(ready.begin(), ready.end());
  repeats_ = plan(repeats);
}

std::vector<std::size_t> Delivery::plan(const std::vector<std::size_t>& events) {
  std::vector<std::size_t> ready;
  std::map<std::string_view, std::size_t> last_of_log;
  for (const std::size_t event : events) {
    const std::string& log = work(event)->route.log;
    const auto last = last_of_log.find(log);
    if (log.empty() || last == last_of_log.end()) {
      ready.push_back(event);
    } else {
      next_of_log_[last->second] = event;
    }
    if (!log.empty()) last_of_log[log] = event;
  }
  return ready;
}

std::optional<std::size_t> Delivery::next() {
  const Lock lock(mutex_);
  if (ready_.empty() || started_ - through_ >= at_once_) return std::nullopt;
  const std::size_t event = ready_.front();
  ready_.pop_front();
  ++started_;
  return event;
}

void Delivery::answered(std::size_t index, Response answer) {
  {
    const Lock lock(mutex_);
    answers_[index] = std::move(answer);
    if (next_of_log_[index]) ready_.push_back(*next_of_log_[index]);
    if (++through_ == firsts_) ready_.insert(ready_.end(), repeats_.begin(), repeats_.end());
  }
  end_if_done();
}

bool Delivery::take_done() { return through_ == all_ && !std::exchange(ended_, true); }

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

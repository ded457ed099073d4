#include "base/server_time.h"

#include <algorithm>

namespace once {
namespace {

constexpr Duration kJump = std::chrono::seconds(1);
constexpr Duration kLasting = std::chrono::seconds(30);
constexpr Duration kOwnAgrees = std::chrono::seconds(2);
constexpr int kAgreeing = 3;
constexpr int kSettled = 2;
constexpr int kDriftPart = 1'000;

}  // namespace

ServerOffset::Interval ServerOffset::Interval::widened(Time now) const {
  Interval wider = *this;
  const Fine drift = Fine(std::max(now - last, Duration(0))) / kDriftPart;
  wider.least -= drift;
  wider.most += drift;
  return wider;
}

bool ServerOffset::Interval::meets(const Interval& other, Fine tolerance) const {
  return least <= other.most + tolerance && other.least <= most + tolerance;
}

// Narrows it. Where the two do not meet, a clock was set a little: the newer one counts.
void ServerOffset::Interval::take(const Interval& newer) {
  const Interval wider = widened(newer.last);
  const bool meet = wider.meets(newer, Fine(0));
  least = meet ? std::max(newer.least, wider.least) : newer.least;
  most = meet ? std::min(newer.most, wider.most) : newer.most;
  last = newer.last;
  ++answers;
}

void ServerOffset::learn(Time server, Time asked, Time answered) {
  // Our clock, too, rounds down to a millisecond.
  Interval heard{.least = server - answered - Duration(1),
                 .most = server + step_ - asked,
                 .first = answered,
                 .last = answered,
                 .answers = 1};
  if (heard.least > heard.most) return;
  const Lock lock(mutex_);
  if (!believed_) {
    const Interval own{
        .least = -kOwnAgrees, .most = kOwnAgrees, .first = {}, .last = {}, .answers = 1};
    if (heard.meets(own, Fine(0))) heard.answers = kSettled;
    believed_ = heard;
    return;
  }
  const bool agrees = believed_->widened(answered).meets(heard, kJump);
  if (agrees) {
    believed_->take(heard);
    rumour_.reset();
    return;
  }
  if (rumour_ && rumour_->widened(answered).meets(heard, kJump)) {
    rumour_->take(heard);
  } else {
    rumour_ = heard;
  }
  if (!is_to_be_believed(*rumour_)) return;
  believed_ = rumour_;
  rumour_.reset();
}

// Two that agree are more than the first answer of all alone, which may have been the wrong one.
bool ServerOffset::is_to_be_believed(const Interval& rumour) const {
  if (believed_->answers < kSettled && rumour.answers >= kSettled) return true;
  return rumour.answers >= kAgreeing && rumour.last - rumour.first >= kLasting;
}

Duration ServerOffset::middle() const {
  const Lock lock(mutex_);
  if (!believed_) return Duration(0);
  return std::chrono::floor<Duration>(believed_->least + (believed_->most - believed_->least) / 2);
}

Duration ServerOffset::least() const {
  const Lock lock(mutex_);
  return believed_ ? std::chrono::floor<Duration>(believed_->least) : Duration(0);
}

std::optional<Duration> ServerOffset::error() const {
  const Lock lock(mutex_);
  if (!believed_) return std::nullopt;
  return std::chrono::ceil<Duration>((believed_->most - believed_->least) / 2);
}

bool ServerOffset::is_settled() const {
  const Lock lock(mutex_);
  return believed_ && believed_->answers >= kSettled;
}

bool ServerOffset::is_disputed() const {
  const Lock lock(mutex_);
  return rumour_.has_value();
}

Time ForwardTime::follow(Time estimate, Time own) {
  const Lock lock(mutex_);
  if (!begun_) {
    begun_ = true;
    told_ = estimate;
    own_ = own;
  }
  const std::chrono::microseconds passed = std::max(own - own_, Duration(0));
  own_ = std::max(own_, own);
  told_ = std::max<Fine>(estimate, told_ + passed * 9 / 10);
  return std::chrono::floor<Duration>(told_);
}

}  // namespace once

#include "aws/server_clock.h"

#include <curl/curl.h>

#include <algorithm>
#include <string>

namespace once::aws {

void ServerClock::learn(Time server, Time asked, Time answered) {
  Known now{
      .least = server - answered, .most = server + Duration(1'000) - asked, .since = answered};
  if (now.least > now.most) return;
  const Lock lock(mutex_);
  if (known_) {
    const std::chrono::microseconds drift(std::max(answered - known_->since, Duration(0)).count());
    const auto least = std::max(now.least, known_->least - drift);
    const auto most = std::min(now.most, known_->most + drift);
    if (least <= most) {
      now.least = least;
      now.most = most;
    }
  }
  known_ = now;
}

Duration ServerClock::offset() const {
  const Lock lock(mutex_);
  if (!known_) return Duration(0);
  return std::chrono::floor<Duration>(known_->least + (known_->most - known_->least) / 2);
}

std::optional<Duration> ServerClock::error() const {
  const Lock lock(mutex_);
  if (!known_) return std::nullopt;
  return std::chrono::ceil<Duration>((known_->most - known_->least) / 2);
}

std::optional<Time> parse_date(std::string_view text) {
  const time_t seconds = curl_getdate(std::string(text).c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return Time(std::chrono::seconds(seconds));
}

}  // namespace once::aws

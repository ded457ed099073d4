#include "stores/redis/server_time.h"

#include <algorithm>

namespace once::redis {
namespace {

constexpr Duration kFresh = std::chrono::seconds(5);
constexpr Duration kStep = Duration(1);  // Both clocks show whole milliseconds.

}  // namespace

void ServerTime::learn(Time sent, Time received, Time server) {
  const Duration least = server - received - kStep;
  const Duration most = std::max(least, server + kStep - sent);
  const Lock lock(mutex_);
  offset_ = known_ ? std::clamp(offset_, least, most) : least;
  known_ = true;
  learnt_ = received;
}

Time ServerTime::now() {
  const Time own = clock_.now();
  const Lock lock(mutex_);
  last_ = std::max(last_, own + offset_);
  return last_;
}

bool ServerTime::is_old() {
  const Time own = clock_.now();
  const Lock lock(mutex_);
  return own - learnt_ > kFresh;
}

}  // namespace once::redis

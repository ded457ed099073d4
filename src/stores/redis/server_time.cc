#include "stores/redis/server_time.h"

namespace once::redis {
namespace {

constexpr Duration kFresh = std::chrono::seconds(5);
constexpr Duration kFreshInDispute = std::chrono::seconds(1);

}  // namespace

void ServerTime::learn(Time sent, Time received, Time server) {
  offset_.learn(server, sent, received);
  const Lock lock(mutex_);
  learnt_ = received;
}

Time ServerTime::now() {
  const Time own = clock_.now();
  return time_.follow(own + offset_.least(), own);
}

bool ServerTime::is_old() {
  if (!offset_.is_settled()) return true;
  const Duration fresh = offset_.is_disputed() ? kFreshInDispute : kFresh;
  const Time own = clock_.now();
  const Lock lock(mutex_);
  return own - learnt_ > fresh;
}

}  // namespace once::redis

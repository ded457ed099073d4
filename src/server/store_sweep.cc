#include "server/store_sweep.h"

#include <algorithm>

namespace once::server {
namespace {

constexpr std::size_t kAtOnce = 1'000;
constexpr Duration kSweepTurn = std::chrono::seconds(1);

}  // namespace

StoreSweep::StoreSweep(Store& store, metrics::AnswerMetrics& metrics, Clock& clock, Duration every)
    : store_(store),
      metrics_(metrics),
      clock_(clock),
      every_(every),
      seconds_(metrics.registry().gauge("once_sweep_seconds",
                                        "How long the latest sweep of expired items took.")),
      removed_(metrics.registry().gauge("once_sweep_removed",
                                        "How many expired items the latest sweep removed.")),
      due_(clock.now()),
      sweeping_(clock, kSweepTurn, [this] { return go_on(); }) {}

// True if there is more to do at once. After an error the next turn tries again.
bool StoreSweep::go_on() {
  if (clock_.now() < due_) return false;
  if (round_.examined == 0) began_ = clock_.now();
  const Result<Swept> swept = store_.sweep(kAtOnce);
  if (!swept) return false;
  round_.examined += swept->examined;
  round_.removed += swept->removed;
  if (!swept->finished) return true;
  metrics_.swept(round_.examined - std::min(round_.examined, round_.removed), round_.removed);
  seconds_.set(std::chrono::duration<double>(clock_.now() - began_).count());
  removed_.set(static_cast<double>(round_.removed));
  round_ = {};
  due_ = later(clock_.now(), every_);
  return false;
}

}  // namespace once::server

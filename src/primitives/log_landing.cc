#include "primitives/log_landing.h"

#include "primitives/log_stream.h"

namespace once::logs {
namespace {

Error too_late(bool doubtful) {
  if (doubtful) return {ErrorCode::unknown, "out of time; an earlier write may have happened"};
  return {ErrorCode::unavailable, "out of time"};
}

}  // namespace

Plan<CommitOutcome> land_all(std::vector<Write>& writes, std::size_t witness, Time until) {
  bool doubtful = false;  // One was sent whose outcome is unknown.
  for (int tries = 1;; ++tries) {
    const Time now = co_await store_now();
    if (now >= until) co_return std::unexpected(too_late(doubtful));
    Result<CommitOutcome> outcome = co_await attempt(commit(writes));
    if (outcome) {
      if (committed(*outcome) || !doubtful) co_return std::move(*outcome);
      const Result<std::optional<Item>> standing = co_await attempt(get(writes[witness].key));
      if (standing) {
        const bool ours = *standing && (*standing)->version == writes[witness].version;
        if (ours) co_return Committed{};
        co_return std::move(*outcome);
      }
    } else {
      const ErrorCode code = outcome.error().code;
      if (code == ErrorCode::unknown) doubtful = true;
      const bool again = doubtful && (code == ErrorCode::unknown || code == ErrorCode::unavailable);
      if (!again) co_return std::unexpected(std::move(outcome.error()));
    }
    co_await back_off(tries);
  }
}

}  // namespace once::logs

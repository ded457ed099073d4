// What a process beside the server tells of itself: `once work` and `once proxy`. Each leaves it as
// a document of its own namespace, which ends by itself, and GET /v1/workers lists them
// (docs/formats.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/json.h"

namespace once::wire {

// The names of such documents begin with this.
inline constexpr std::string_view kWorkerPrefix = ".once/workers/";

struct WorkerStatus {
  std::string id;    // The document's name, without the prefix: "work/HOST/PID-NUMBER".
  std::string kind;  // "work" or "proxy".
  std::string name;  // Of its queue, or its upstream. No secrets.
  std::string host;
  std::int64_t pid = 0;
  Time started_at;
  Time at;  // When this was true.
  std::int64_t in_flight = 0;
  std::int64_t done = 0;  // Handled, or answered by the upstream; since the start, as all below.
  std::int64_t duplicates = 0;  // Skipped, or replayed.
  std::int64_t failed = 0;
  std::int64_t dead = 0;                // Dead letters.
  std::optional<std::int64_t> waiting;  // In the queue; nothing if that is not known.
  std::optional<Duration> lag;          // Since the oldest in flight was sent; likewise.

  friend bool operator==(const WorkerStatus&, const WorkerStatus&) = default;
};

std::string encode(const WorkerStatus& status);

// `corrupt` if it is none: any writer of the namespace may have put it there. `id` is not in it.
Result<WorkerStatus> decode_worker_status(std::string_view body);

}  // namespace once::wire

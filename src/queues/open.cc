#include <string>
#include <vector>

#include "once/queues.h"
#include "queues/queue_kind.h"

namespace once {

// The build writes built_queues.inc: ONCE_QUEUE(name) for each once_queue(name).
#define ONCE_QUEUE(name) QueueKind name##_queue_kind();
#include "built_queues.inc"
#undef ONCE_QUEUE

Result<std::unique_ptr<Queue>> open_queue(std::string_view text) {
  const std::vector<QueueKind> kinds = {
#define ONCE_QUEUE(name) name##_queue_kind(),
#include "built_queues.inc"
#undef ONCE_QUEUE
  };
  const Address address = parse_address(text);
  std::string forms;
  for (const QueueKind& kind : kinds) {
    const bool is_tls = !kind.other_scheme.empty() && kind.other_scheme == address.scheme;
    if (kind.scheme == address.scheme || is_tls) return kind.open(address);
    forms += (forms.empty() ? "" : ", ") + std::string(kind.example);
  }
  if (kinds.empty()) return failure(ErrorCode::unsupported, "this build has no queues");
  return failure(ErrorCode::invalid, "a queue's address is " + forms);
}

}  // namespace once

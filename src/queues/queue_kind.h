// A row of the table of brokers in queues/open.cc: a broker's folder defines NAME_queue_kind(), and
// once_queue(NAME) of the build puts it there.
#pragma once

#include <memory>
#include <string_view>

#include "base/address.h"
#include "once/queue.h"

namespace once {

struct QueueKind {
  std::string_view scheme;
  std::string_view other_scheme;  // The same over TLS. Empty if it has none.
  std::string_view example;       // The form of its addresses, for messages.
  Result<std::unique_ptr<Queue>> (*open)(const Address& address);
};

}  // namespace once

// sqs://QUEUE?region=REGION&endpoint=URL&dead=QUEUE&wait=SECONDS
#include <utility>

#include "queues/queue_kind.h"
#include "queues/sqs/queue.h"

namespace once {
namespace sqs {
namespace {

Result<void> set_option(Options& options, const std::string& name, const std::string& value) {
  constexpr std::int64_t kMostWait = 20;
  const std::int64_t wait = whole_number(value).value_or(kMostWait + 1);
  if (name == "region") {
    options.region = value;
  } else if (name == "endpoint") {
    options.endpoint = value;
  } else if (name == "dead") {
    options.dead = value;
  } else if (name == "wait" && wait <= kMostWait) {
    options.wait = std::chrono::seconds(wait);
  } else {
    return failure(ErrorCode::invalid,
                   "sqs has the options region, endpoint, dead and wait (0 to 20 seconds), not \"" +
                       name + "=" + value + "\"");
  }
  return {};
}

Result<std::unique_ptr<Queue>> open_at(const Address& address) {
  const std::string_view place = address.place;
  if (!place.starts_with("//") || place.size() == 2 || place.find('/', 2) != place.npos) {
    return failure(ErrorCode::invalid, "a queue's address is sqs://QUEUE?region=REGION");
  }
  Options options{.queue = std::string(place.substr(2))};
  Result<void> ok = for_each_option(address, [&](const auto& name, const auto& value) {
    return set_option(options, name, value);
  });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return open(options);
}

}  // namespace
}  // namespace sqs

QueueKind sqs_queue_kind() {
  return {.scheme = "sqs", .example = "sqs://QUEUE?region=REGION", .open = sqs::open_at};
}

}  // namespace once

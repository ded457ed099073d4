#include <utility>

#include "once/queues.h"
#include "open/address.h"
#ifdef ONCE_HAS_RABBITMQ
#include "queues/rabbitmq/address.h"
#endif
#ifdef ONCE_HAS_SQS
#include "queues/sqs/queue.h"
#endif

namespace once {
namespace {

using Opened = Result<std::unique_ptr<Queue>>;

#ifdef ONCE_HAS_SQS
Result<void> set(sqs::Options& options, const std::string& name, const std::string& value) {
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

Opened open_sqs(const Address& address) {
  const std::string_view place = address.place;
  if (!place.starts_with("//") || place.size() == 2 || place.find('/', 2) != place.npos) {
    return failure(ErrorCode::invalid, "a queue's address is sqs://QUEUE?region=REGION");
  }
  sqs::Options options{.queue = std::string(place.substr(2))};
  Result<void> ok = for_each_option(
      address, [&](const auto& name, const auto& value) { return set(options, name, value); });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return sqs::open(options);
}
#endif

}  // namespace

Opened open_queue(std::string_view text) {
  const Address address = parse_address(text);
#ifdef ONCE_HAS_SQS
  if (address.scheme == "sqs") return open_sqs(address);
#else
  if (address.scheme == "sqs") {
    return failure(ErrorCode::unsupported, "this build has no queues on SQS");
  }
#endif
#ifdef ONCE_HAS_RABBITMQ
  if (address.scheme == "amqp" || address.scheme == "amqps") {
    Result<rabbitmq::Options> options = rabbitmq::options_of(address);
    if (!options) return std::unexpected(std::move(options.error()));
    return rabbitmq::open(std::move(*options));
  }
#else
  if (address.scheme == "amqp" || address.scheme == "amqps") {
    return failure(ErrorCode::unsupported, "this build has no queues on RabbitMQ");
  }
#endif
  return failure(
      ErrorCode::invalid,
      "a queue's address is sqs://QUEUE?region=REGION, amqp://HOST/QUEUE or amqps://HOST/QUEUE");
}

}  // namespace once

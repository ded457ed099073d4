// A queue of RabbitMQ.
#pragma once

#include <memory>

#include "once/queue.h"
#include "queues/rabbitmq/connection.h"

namespace once::rabbitmq {

// The queue and that for dead letters are made, as quorum queues, if they are not there. Messages
// of errors never have the password.
Result<std::unique_ptr<Queue>> open(Options options);

}  // namespace once::rabbitmq

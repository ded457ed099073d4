// A queue of RabbitMQ.
#pragma once

#include <memory>

#include "once/queue.h"
#include "queues/rabbitmq/connection.h"

namespace once::rabbitmq {

// Creates the queue and the one for dead letters, as quorum queues, if they do not exist. Error
// messages never contain the password.
Result<std::unique_ptr<Queue>> open(Options options);

}  // namespace once::rabbitmq

// Opening a queue by its address.
//
//   sqs://QUEUE?region=eu-west-1
//                    a queue of Amazon SQS; the options are region, endpoint (of something else
//                    that speaks like it), dead (the queue for dead letters, QUEUE-dead otherwise;
//                    made if it is not there) and wait (for messages in one call, in seconds, 5)
//   amqp://user:password@host:port/VHOST/QUEUE
//                    a queue of RabbitMQ; user and password (guest), port (5672) and VHOST (/) may
//                    be left out; the options are dead, as above, and group (the header whose value
//                    names a message's group). Both queues are made, as quorum queues, if they are
//                    not there
//   amqps://...      the same over TLS (port 5671). The broker's certificate must be for the host
//                    that is named, and is verified by those the system trusts, or by those in the
//                    file that the option ca names
#pragma once

#include <memory>
#include <string_view>

#include "once/queue.h"

namespace once {

// `invalid`: not the address of a queue that this build has a broker for, an option that does not
// exist, or no such queue. `unsupported`: this build has no brokers. Otherwise what the broker
// says.
Result<std::unique_ptr<Queue>> open_queue(std::string_view address);

}  // namespace once

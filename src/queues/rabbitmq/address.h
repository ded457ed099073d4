// amqp://USER:PASSWORD@HOST:PORT/VHOST/QUEUE?dead=QUEUE&group=HEADER
// amqps://... the same over TLS, and ca=FILE
#pragma once

#include "base/address.h"
#include "queues/rabbitmq/connection.h"

namespace once::rabbitmq {

// Messages never have the password.
Result<Options> options_of(const Address& address);

}  // namespace once::rabbitmq

// TLS sockets for librabbitmq that verify the broker.
#pragma once

#include <amqp.h>

#include <string>

#include "once/error.h"

namespace once::rabbitmq {

// A socket that belongs to `state`. The broker's certificate must be for `host`, a name or an
// address, and be signed by one in `ca_file`; "" for those the system trusts. `invalid` if the file
// has none.
Result<amqp_socket_t*> tls_socket(amqp_connection_state_t state, const std::string& host,
                                  const std::string& ca_file);

// True if the broker was refused because of its certificate.
bool is_untrusted(int status);

}  // namespace once::rabbitmq

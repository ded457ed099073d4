// Sockets of librabbitmq that speak TLS, to the broker that was meant only.
#pragma once

#include <amqp.h>

#include <string>

#include "once/error.h"

namespace once::rabbitmq {

// A socket of `state`, which has it from then on. The broker's certificate is to be for `host`, a
// name or an address, and vouched for by one in `ca_file`; "" for those the system trusts.
// `invalid` if there is none in that file.
Result<amqp_socket_t*> tls_socket(amqp_connection_state_t state, const std::string& host,
                                  const std::string& ca_file);

// Whether a broker was refused for its certificate.
bool is_untrusted(int status);

}  // namespace once::rabbitmq

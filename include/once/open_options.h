// How a store or a server is opened: see once/open.h.
#pragma once

#include <string>

#include "once/time.h"

namespace once {

struct OpenOptions {
  // How long to wait for another process that has the directory of an embedded store open.
  Duration wait_for_turn = Duration::zero();

  // How often an embedded store removes expired items by itself; zero leaves it to sweep().
  Duration sweep_every = std::chrono::minutes(5);

  // For a server that asks for one. Empty: what $ONCE_TOKEN says, if it says anything.
  std::string token;

  // For a server with TLS, files in PEM form: whom to trust (the machine's authorities otherwise),
  // and the certificate and key to show, which may be in one file. Empty: what $ONCE_CA,
  // $ONCE_CLIENT_CERT and $ONCE_CLIENT_KEY say.
  std::string ca;
  std::string client_cert;
  std::string client_key;
};

}  // namespace once

// The primitives of a server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/http_client.h"
#include "once/backend.h"
#include "wire/data_form.h"

namespace once::remote {

// `url` is http://host or http://host:port, and is not asked for anything yet. A token that is not
// empty is sent with every request. An empty `name_space` is the server's own default. `clock` and
// `entropy` must outlive it. `invalid` if the url is not one. `still_there` and `trust` are
// as for a ServerClient. A caller all of whose bytes are JSON may send them as that: it takes less
// room in a request, whose size a server bounds.
Result<std::unique_ptr<Backend>> connect(std::string url, std::string token, std::string name_space,
                                         Clock& clock, Entropy& entropy,
                                         std::function<bool()> still_there = {},
                                         wire::DataForm form = wire::DataForm::exact,
                                         client::ServerTrust trust = {});

}  // namespace once::remote

// The primitives of a server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "once/backend.h"

namespace once::remote {

// `url` is http://host or http://host:port, and is not asked for anything yet. A token that is not
// empty is sent with every request. `clock` and `entropy` must outlive it. `invalid` if the
// url is not one. `still_there` is as for a ServerClient.
Result<std::unique_ptr<Backend>> connect(std::string url, std::string token, std::string name_space,
                                         Clock& clock, Entropy& entropy,
                                         std::function<bool()> still_there = {});

}  // namespace once::remote

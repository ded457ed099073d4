// A server in place of a store.
#pragma once

#include <memory>
#include <string>

#include "library/backend.h"

namespace once::remote {

// `url` is http://host or http://host:port, and is not asked for anything yet. A token that is not
// empty goes along with every request. `clock` and `entropy` must outlive it. `invalid` if the url
// is none.
Result<std::unique_ptr<Backend>> connect(std::string url, std::string token, std::string name_space,
                                         Clock& clock, Entropy& entropy);

}  // namespace once::remote

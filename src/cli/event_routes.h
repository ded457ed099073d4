// The routes of events in the configuration file:
//
//   [[route]]
//   type    = "network.notifi.lambda.build.*"
//   forward = "http://127.0.0.1:8080/build"
//   log     = "builds"
//   tally   = "builds-per-type"
//   ttl     = "24h"
#pragma once

#include <string>

#include "events/routes.h"
#include "once/error.h"

namespace once::cli {

// In the order of the file; none if it has none. `invalid` says which route and which field.
Result<events::EventRoutes> load_routes(const std::string& file);

}  // namespace once::cli

// The configuration file: TOML whose keys are options, at its top level for every command that
// takes them, or in a table named after one command.
//
//   store = "/var/lib/once"
//   [claim]
//   lease = "5m"
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/tenants.h"
#include "events/routes.h"
#include "once/error.h"

namespace once::cli {

class Config {
 public:
  // What the command's table says, or else the top level.
  std::optional<std::string> find(std::string_view command, std::string_view option) const;

 private:
  friend Result<Config> load_config(const std::string& file);
  std::map<std::string, std::string, std::less<>> values_;  // "lease", "claim.lease".
};

// `invalid`: no such file, no TOML, or a key that no command takes, so that a typo is not silently
// ignored.
Result<Config> load_config(const std::string& file);

// The routes of events in the configuration file:
//
//   [[route]]
//   type    = "network.notifi.lambda.build.*"
//   forward = "http://127.0.0.1:8080/build"
//   log     = "builds"
//   tally   = "builds-per-type"
//   ttl     = "24h"
//
// In the order of the file; empty if it has none. `invalid` says which route and which field.
Result<events::EventRoutes> load_routes(const std::string& file);

// The quotas of namespaces in the configuration file, each of its fields optional:
//
//   [namespace.acme]
//   keys                = 1_000_000
//   bytes               = 10_000_000_000
//   requests_per_second = 500
//   [namespace."*"]                        # each that is not listed
//   requests_per_second = 100
//
// `invalid` says which namespace and which field.
Result<api::Quotas> load_quotas(const std::string& file);

}  // namespace once::cli

// Warnings about how a server was started, known before it serves. docs/operations.md explains each
// of them, and a test compares the two lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/findings.h"
#include "server/journal.h"

namespace once::server {

struct Warning {
  std::string_view name;
  std::string_view text;
  std::string_view remedy;  // Empty where api/findings.h judges the same, or of a proxy.
};

// All possible warnings.
std::span<const Warning> all_warnings();

// How the server was started.
struct StartupFacts {
  std::string store;   // Its address.
  std::string listen;  // host:port
  bool has_tokens = false;
  bool no_token_left = false;  // There were some.
  bool if_store_down_proceed = false;
  bool after_unknown_retry = false;  // Of a proxy.
  bool tls = false;
  std::optional<Duration> certificate_left;  // Until the certificate ends.
  std::size_t max_connections = 0;
  std::size_t descriptors = 0;         // Limit of this process.
  std::optional<std::uintmax_t> room;  // Free bytes on the disk of the store.
};

// Adds what the operating system knows.
StartupFacts collect_facts(StartupFacts known);

std::vector<Warning> warnings_for(const StartupFacts& facts);

// Those with a remedy, for `once doctor` and the console.
std::vector<api::Finding> findings_for(const StartupFacts& facts);

// Writes one line to the journal for each warning.
void warn(Journal& journal, const StartupFacts& facts);

}  // namespace once::server

// What an operator should know about how a server was started: nothing that keeps it from running,
// and nothing that it finds out later. docs/operations.md explains each, and a test compares the
// two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/journal.h"

namespace once::server {

struct Warning {
  std::string_view name;
  std::string_view text;
};

// All that there are.
std::span<const Warning> all_warnings();

// How it was started.
struct Circumstances {
  std::string store;   // Its address.
  std::string listen;  // host:port
  bool has_tokens = false;
  bool if_store_down_proceed = false;
  bool after_unknown_retry = false;  // Of a proxy.
  std::size_t max_connections = 0;
  std::size_t descriptors = 0;         // That this process may have.
  std::optional<std::uintmax_t> room;  // On the disk of the store, in bytes.
};

// Fills in what the operating system knows.
Circumstances look_around(Circumstances known);

bool is_loopback(const std::string& listen);

std::vector<Warning> warnings_for(const Circumstances& circumstances);

// One line of the journal for each.
void warn(Journal& journal, const Circumstances& circumstances);

}  // namespace once::server

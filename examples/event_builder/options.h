// What the command line says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "once/error.h"
#include "once/time.h"

namespace event_builder {

struct Options {
  std::string role;  // "" for the whole story.
  bool help = false;
  std::string queue;
  std::string store;
  once::Duration ttl = std::chrono::hours(24);
  once::Duration lease = std::chrono::seconds(30);
  std::size_t concurrency = 4;
  std::uint16_t listen = 8080;
  std::size_t count = 80;
  std::uint32_t seed = 1;
};

// `invalid` with what is wrong, for people.
once::Result<Options> parse_options(int argc, char** argv);

std::string help();

}  // namespace event_builder

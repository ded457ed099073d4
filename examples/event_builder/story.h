// The whole of it in one process: queues that deliver at least once, builds that fail, builders
// that race, and the hours that pass.
#pragma once

#include <cstdint>
#include <filesystem>

#include "once/error.h"

namespace event_builder {

struct StoryOptions {
  std::filesystem::path directory;  // Of the store.
  std::size_t events = 80;
  std::uint32_t seed = 1;
};

// Prints what happens. Whether each event was built as often as it should have been.
once::Result<bool> tell_story(const StoryOptions& options);

}  // namespace event_builder

// The console's page, scripts and styles, as they were when this was built. They have no secrets:
// anyone may read them.
#pragma once

#include <span>
#include <string_view>

namespace once::console {

struct Asset {
  std::string_view name;   // A file of src/console, such as "main.js".
  std::string_view type;   // Its content type.
  std::string_view etag;   // With quotes. Differs if the bytes do.
  std::string_view bytes;  // Lives as long as the program.
  std::string_view gzip;   // The same, compressed.
};

std::span<const Asset> assets();

// Null if there is none of this name.
const Asset* find_asset(std::string_view name);

}  // namespace once::console

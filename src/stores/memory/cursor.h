// A cursor of list(): the key that was examined last.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/key.h"

namespace once::memory {

std::string cursor_after(const Key& key);

// Empty unless cursor_after() made it.
std::optional<Key> key_of_cursor(std::string_view cursor);

}  // namespace once::memory

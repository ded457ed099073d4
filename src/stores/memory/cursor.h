// A cursor of list(): the key that was examined last.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "once/key.h"

namespace once::memory {

std::string cursor_after(const Key& key);

// Empty for what cursor_after() did not make.
std::optional<Key> key_of_cursor(std::string_view cursor);

}  // namespace once::memory

// Manual pages, made from the same texts that `once help` prints.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

namespace once::cli {

// once.1: `overview` is what `once help` prints.
std::string main_page(std::string_view overview);

// once-NAME.1
std::string page_of(const Command& command);

}  // namespace once::cli

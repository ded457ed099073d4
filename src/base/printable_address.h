// Addresses of stores, queues and servers as they may be shown.
#pragma once

#include <string>
#include <string_view>

namespace once {

// The password in `scheme://user:password@host`, as a part of `text`; empty if there is none.
std::string_view password_in(std::string_view text);

// An address for people, in lines, messages and logs: without its password.
std::string printable_address(std::string_view text);

}  // namespace once

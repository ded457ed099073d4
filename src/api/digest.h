// Fingerprints of texts, and names made of several texts.
#pragma once

#include <string>
#include <string_view>

namespace once::api {

// Hex of the SHA-256.
std::string digest_of(std::string_view text);

// Appends a part with its length in front, so that "a" and "bc" are not "ab" and "c" (H32).
void append_part(std::string& out, std::string_view part);

}  // namespace once::api

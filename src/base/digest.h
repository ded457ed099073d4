// Digests of bytes, by OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace once {

// The 32 bytes themselves. hex_encode() (base/encoding.h) writes them as text.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

std::string sha256_hex(std::string_view bytes);

// Only to name what others name so. It is no protection.
std::string sha1_hex(std::string_view bytes);

}  // namespace once

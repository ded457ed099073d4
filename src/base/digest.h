// Digests of bytes, by OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace once {

// The 32 bytes themselves. hex_encode() (base/encoding.h) writes them as text.
std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

std::string sha256_hex(std::string_view bytes);

// The same of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view piece);
  std::string hex();  // Of all. Ends it.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Only to name what others name so. It is no protection.
std::string sha1_hex(std::string_view bytes);

}  // namespace once

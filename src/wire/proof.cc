#include "wire/proof.h"

#include "base/digest.h"
#include "base/encoding.h"

namespace once::wire {

std::string proof_of(std::string_view secret, std::string_view number, std::string_view url) {
  std::string input = "once-prove\n";
  input.append(number).append("\n").append(url);
  return hex_encode(hmac_sha256(secret, input));
}

}  // namespace once::wire

// How a server proves that it can read a secret that both sides know, without telling it: the
// client sends a new number with GET /healthz, and the answer has a code over it.
#pragma once

#include <string>
#include <string_view>

namespace once::wire {

inline constexpr std::string_view kProve = "Once-Prove";  // The header with the number.
inline constexpr std::size_t kMaxNumber = 128;            // Bytes of it.

// As hex. It is good for this server alone: another that asks the real one for a proof, and passes
// it on, has another `url`.
std::string proof_of(std::string_view secret, std::string_view number, std::string_view url);

}  // namespace once::wire

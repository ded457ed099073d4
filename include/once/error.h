// Errors name the caller's next move. Expected outcomes (a lost guard, a busy claim) are values
// of their own type and never an Error.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace once {

enum class ErrorCode : std::uint8_t {
  invalid,      // The request can never succeed as it stands. Nothing was written.
  too_large,    // Nor can this one, but a smaller one might. Nothing was written.
  denied,       // The store refuses this caller. Nothing was written.
  unavailable,  // Nothing was written; the same request may be sent again.
  unknown,      // May have been written, or may still be. Read back before sending again.
  unsupported,  // This store cannot do it. Nothing was written.
  corrupt,      // Stored bytes fail their checks. Nothing was written.
};

struct Error {
  ErrorCode code;
  std::string message;  // For people. Holds no secret and no stored value.
};

template <class T>
using Result = std::expected<T, Error>;

// True if the same request may succeed later. After `unknown` it may also have been performed: only
// what cannot take effect twice is sent again.
inline bool is_transient(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::unknown;
}
inline bool is_transient(const Error& error) { return is_transient(error.code); }

// The same of an answer; false for a success.
template <class T>
bool is_transient(const Result<T>& answer) {
  return !answer && is_transient(answer.error());
}

// The stable name of a code, as it appears in answers and metrics: "unavailable".
std::string_view name_of(ErrorCode code);

inline std::unexpected<Error> failure(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

}  // namespace once

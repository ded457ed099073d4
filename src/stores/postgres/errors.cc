#include "stores/postgres/errors.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "stores/postgres/connection.h"

namespace once::postgres {
namespace {

constexpr std::string_view kRace = "ON001";
constexpr std::string_view kLocked = "55P03";
constexpr std::string_view kReadOnly = "25006";
constexpr std::string_view kFull = "53100";

Error error(ErrorCode code, const Failure& failure, const std::string& advice = {}) {
  constexpr std::string_view kName = "postgres: ";
  std::string message = failure.message;
  if (!message.starts_with(kName)) message.insert(0, kName);
  if (!failure.state.empty()) message += " (" + failure.state + ")";
  return {code, message + advice};
}

bool one_of(std::string_view state, std::initializer_list<std::string_view> states) {
  return std::ranges::find(states, state) != states.end();
}

std::string how_to_create(const std::string& schema) {
  return "; make schema \"" + schema + "\" with: once table create --store postgres://…";
}

// The server rolled it back and said so: nothing was written, whatever the reason.
Error refusal(const Failure& failure, const std::string& schema) {
  const std::string_view state = failure.state;
  if (one_of(state, {"3F000", "42883", "42P01"})) {
    return error(ErrorCode::unavailable, failure, how_to_create(schema));
  }
  if (state == "42501") {
    return error(ErrorCode::denied, failure,
                 "; let this role use the schema with: once table create --grant ROLE --store "
                 "postgres://…");
  }
  if (state.starts_with("28")) return error(ErrorCode::denied, failure);
  if (one_of(state, {"XX001", "XX002"})) return error(ErrorCode::corrupt, failure);
  if (state == kLocked) {
    return error(ErrorCode::unavailable, failure, ": another transaction holds the item");
  }
  if (state.starts_with("22") || state.starts_with("23") || state.starts_with("54")) {
    return error(ErrorCode::invalid, failure);
  }
  return error(ErrorCode::unavailable, failure);
}

}  // namespace

bool is_race(const Failure& failure) {
  return failure.sent == Failure::Sent::refused && failure.state == kRace;
}

bool is_locked(const Failure& failure) {
  return failure.sent == Failure::Sent::refused && failure.state == kLocked;
}

bool is_read_only(const Failure& failure) { return failure.state == kReadOnly; }

bool is_full(const Failure& failure) { return failure.state == kFull; }

Error error_of(const Failure& failure, const std::string& schema) {
  switch (failure.sent) {
    case Failure::Sent::partly: return error(failure.code, failure);
    case Failure::Sent::wholly: return error(ErrorCode::unknown, failure);
    case Failure::Sent::refused: break;
  }
  return refusal(failure, schema);
}

Error reading_error_of(const Failure& failure, const std::string& schema) {
  Error error = error_of(failure, schema);
  if (error.code == ErrorCode::unknown) error.code = ErrorCode::unavailable;
  return error;
}

Error connecting_error(const std::string& message) {
  constexpr std::array<std::string_view, 5> kDenied = {
      "authentication failed", "no pg_hba.conf entry", "no password supplied", "is not permitted",
      "permission denied"};
  constexpr std::array<std::string_view, 5> kInvalid = {"invalid URI", "invalid connection option",
                                                        "missing \"=\"", "invalid sslmode",
                                                        "invalid port"};
  const auto says = [&](std::string_view text) { return message.find(text) != std::string::npos; };
  const bool no_role = says("role \"") && says("does not exist");
  ErrorCode code = ErrorCode::unavailable;
  if (no_role || std::ranges::any_of(kDenied, says)) code = ErrorCode::denied;
  if (std::ranges::any_of(kInvalid, says)) code = ErrorCode::invalid;
  return {code, "postgres: " + message};
}

}  // namespace once::postgres

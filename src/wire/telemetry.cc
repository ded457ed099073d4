#include "wire/telemetry.h"

namespace once::wire {

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::executed: return "executed";
    case Outcome::read: return "read";
    case Outcome::passed: return "passed";
    case Outcome::taken_over: return "taken_over";
    case Outcome::replayed: return "replayed";
    case Outcome::unguarded: return "unguarded";
    case Outcome::busy: return "busy";
    case Outcome::mismatch: return "mismatch";
    case Outcome::fenced: return "fenced";
    case Outcome::precondition_failed: return "precondition_failed";
    case Outcome::precondition_required: return "precondition_required";
    case Outcome::not_found: return "not_found";
    case Outcome::invalid: return "invalid";
    case Outcome::too_large: return "too_large";
    case Outcome::contended: return "contended";
    case Outcome::unauthorized: return "unauthorized";
    case Outcome::forbidden: return "forbidden";
    case Outcome::unsupported: return "unsupported";
    case Outcome::overloaded: return "overloaded";
    case Outcome::handler_failed: return "handler_failed";
    case Outcome::unavailable: return "unavailable";
    case Outcome::unknown: return "unknown";
    case Outcome::corrupt: return "corrupt";
  }
  return "";
}

}  // namespace once::wire

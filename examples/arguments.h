// A command line: words, `--options VALUE` and `--flags`, as the examples take them.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "once/time.h"

namespace examples {

// The caller asked for something that is not there.
struct BadUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Ask for all options first, then for the words, then call end().
class Arguments {
 public:
  Arguments(int count, char** words) : words_(words + std::min(count, 1), words + count) {}

  bool flag(std::string_view name) { return std::erase(words_, name) > 0; }

  std::optional<std::string> option(std::string_view name) {
    std::optional<std::string> value;
    for (auto at = words_.begin(); at != words_.end();) {
      if (*at != name) {
        ++at;
        continue;
      }
      if (at + 1 == words_.end() || (at + 1)->starts_with("--")) {
        throw BadUsage(std::string(name) + " needs a value");
      }
      value = *(at + 1);
      at = words_.erase(at, at + 2);
    }
    return value;
  }

  // One that must be there.
  std::string needed(std::string_view name) {
    std::optional<std::string> value = option(name);
    if (!value) throw BadUsage(std::string(name) + " is missing");
    return std::move(*value);
  }

  template <class Number = std::int64_t>
  Number number(std::string_view name, std::int64_t otherwise, std::int64_t least,
                std::int64_t most) {
    const std::optional<std::string> text = option(name);
    if (!text) return static_cast<Number>(otherwise);
    const auto [value, rest] = split(*text);
    if (!rest.empty() || value < least || value > most) {
      throw BadUsage(std::string(name) + " is a number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", not '" + *text + "'");
    }
    return static_cast<Number>(value);
  }

  // Of what is random: the same for the same seed.
  std::uint32_t seed() { return number<std::uint32_t>("--seed", 1, 0, 1'000'000'000); }

  // Like 500ms, 30s, 5m or 24h.
  once::Duration duration(std::string_view name, once::Duration otherwise, once::Duration least,
                          once::Duration most) {
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> kUnits = {
        {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
    const std::optional<std::string> text = option(name);
    if (!text) return otherwise;
    const auto [value, rest] = split(*text);
    for (const auto& [unit, ms] : kUnits) {
      const bool fits = value >= 0 && value <= most.count() / ms && value * ms >= least.count();
      if (rest == unit && fits) return once::Duration(value * ms);
    }
    throw BadUsage(std::string(name) + " is a time like 500ms, 30s or 24h, from " +
                   std::to_string(least.count()) + "ms to " + std::to_string(most.count()) +
                   "ms, not '" + *text + "'");
  }

  // The next argument. `what` names it in the error if it is missing.
  std::string word(std::string_view what) {
    if (words_.empty()) throw BadUsage(std::string(what) + " is missing");
    if (words_.front().starts_with("--")) throw BadUsage("there is no option " + words_.front());
    std::string first = std::move(words_.front());
    words_.erase(words_.begin());
    return first;
  }

  // Whether there is one, and not only options.
  bool has_words() const { return !words_.empty() && !words_.front().starts_with("--"); }

  // Nothing may be left.
  void end() const {
    if (words_.empty()) return;
    const std::string& extra = words_.front();
    throw BadUsage(extra.starts_with("--") ? "there is no option " + extra
                                           : "nothing is to be done with '" + extra + "'");
  }

 private:
  // The number that a text begins with, and the rest. Without a number, the rest is never empty.
  static std::pair<std::int64_t, std::string> split(const std::string& text) {
    std::int64_t value = 0;
    const char* const last = std::to_address(text.end());
    const auto [end, wrong] = std::from_chars(std::to_address(text.begin()), last, value);
    if (wrong != std::errc()) return {0, "no number"};
    return {value, std::string(end, last)};
  }

  std::vector<std::string> words_;
};

}  // namespace examples

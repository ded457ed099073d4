// A command line: words, `--options VALUE` and `--flags`, as the examples take them.
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

// The caller asked for something that is not there.
struct BadUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Ask for all options first, then for the words, then call end().
class Arguments {
 public:
  Arguments(int count, char** words) : words_(words + 1, words + count) {}

  bool flag(std::string_view name) { return std::erase(words_, name) > 0; }

  std::optional<std::string> option(std::string_view name) {
    std::optional<std::string> value;
    for (auto at = words_.begin(); at != words_.end();) {
      if (*at != name) {
        ++at;
        continue;
      }
      if (at + 1 == words_.end()) throw BadUsage(std::string(name) + " needs a value");
      value = *(at + 1);
      at = words_.erase(at, at + 2);
    }
    return value;
  }

  std::int64_t number(std::string_view name, std::int64_t otherwise, std::int64_t least,
                      std::int64_t most) {
    const std::optional<std::string> text = option(name);
    if (!text) return otherwise;
    std::int64_t value = 0;
    const char* const last = std::to_address(text->end());
    const auto [end, wrong] = std::from_chars(std::to_address(text->begin()), last, value);
    if (wrong != std::errc() || end != last || value < least || value > most) {
      throw BadUsage(std::string(name) + " is a number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", not '" + *text + "'");
    }
    return value;
  }

  // The next one; `what` it is, if there is none.
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
  std::vector<std::string> words_;
};

}  // namespace examples

// Output for people: aligned, and coloured where a terminal shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/json.h"

namespace once::cli {

enum class Colour : std::uint8_t { plain, faint, red, green, yellow };

// Only where stdout is a terminal, NO_COLOR is not set and TERM is not "dumb".
std::string coloured(Colour colour, std::string_view text);

// The colour of a claim's state, and of what is like one.
Colour colour_of(std::string_view state);

// A string as it is, other JSON as JSON; control characters as \xNN, so that what is stored cannot
// play tricks on a terminal. "" for null.
std::string shown(api::Json value);
std::string shown(std::string_view text);

// A member of an object as shown(); "" if it is not there.
std::string member(api::Json object, std::string_view name);

// One line for each member, the names aligned.
void print_members(api::Json object);

// Rows below a header, the columns aligned. Nothing if there are no rows.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace once::cli

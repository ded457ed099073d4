// What an export is besides its items (wire/items.h): the line before them, and the line after.
//
//   {"export":"once","format":1}
//   ...
//   {"items":2,"check":2901488999,"time":"2026-11-15T09:30:00.000Z"}
//
// The last line tells that the export is complete: how many items there are, the sum of their
// checks modulo 2^32, and the store's time when it began; and "as_found":true if its items may be
// of different moments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "once/error.h"
#include "wire/items.h"

namespace once::cli {

struct FirstLine {};
struct ItemLine {
  std::string home;
  std::uint32_t check = 0;
  bool is_token = false;
};
struct LastLine {
  std::uint64_t items = 0;
  std::uint32_t check = 0;
  Time time;
  bool as_found = false;  // Its items may be of different moments.
};
using ExportLine = std::variant<FirstLine, ItemLine, LastLine>;

std::string first_line();
std::string last_line(const LastLine& line);

// `invalid` for anything else, for an item that is damaged, and for one that is not what its key is
// for; `unsupported` for an export of a
// newer format.
Result<ExportLine> parse_export_line(std::string_view line);

}  // namespace once::cli

// Items of a store as lines of JSON: what `once export` writes and `once import` reads. Versions
// are part of it, so that ETags and tickets stay good; so are fences, which are part of the values.
//
//   {"export":"once","format":1}
//   {"home":"claim/default/a","part":"","sort":0,"version":"00c0ffee00000001","bytes":"Y2FmZQ"}
//   {"home":"tally/default/b","part":"","sort":0,"version":"00c0ffee00000002","number":5,
//    "expiry":1767225600000}
//   {"items":2}
//
// `expiry` is in milliseconds since 1970, and absent if there is none; `bytes` is base64url without
// padding. A home or part that is not UTF-8 is base64url in `home64` or `part64`. The last line
// tells that the export is complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "once/error.h"
#include "once/store.h"

namespace once::cli {

using Listed = ListPage::Listed;

std::string first_line();
std::string item_line(const Listed& listed);
std::string last_line(std::uint64_t items);

struct FirstLine {};
struct LastLine {
  std::uint64_t items = 0;
};
using ExportLine = std::variant<FirstLine, Listed, LastLine>;

// `invalid` for anything else; `unsupported` for an export of a newer format.
Result<ExportLine> parse_export_line(std::string_view line);

}  // namespace once::cli

#include "wire/text.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "wire/json.h"

namespace once::wire {
namespace {

using namespace std::chrono_literals;

TEST(ApiText, DurationsAreAWholeNumberAndAUnit) {
  EXPECT_EQ(parse_duration("250ms"), 250ms);
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("5m"), 5min);
  EXPECT_EQ(parse_duration("24h"), 24h);
  EXPECT_EQ(parse_duration("7d"), 168h);
  EXPECT_EQ(parse_duration("0s"), 0s);
}

TEST(ApiText, WhatIsNoDurationIsNothing) {
  for (const char* text : {"", "5", "s", "-5s", "1.5s", "5 s", "5S", "5w", "s5", "5ss",
                           "99999999999999999999s", "9223372036854775807d", "11000d"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(ApiText, TimesAreUtcToTheMillisecond) {
  const Time time = std::chrono::sys_days(std::chrono::year(2026) / 11 / 15) + 9h + 30min + 5ms;
  EXPECT_EQ(format_time(time), "2026-11-15T09:30:00.005Z");
  for (const char* text : {"2026-11-15T09:30:00.005Z", "2026-11-15T10:30:00.0059+01:00",
                           "2026-11-15t09:30:00.005z", "2026-11-15T05:00:00.005-04:30"}) {
    EXPECT_EQ(parse_time(text), time) << text;
  }
}

TEST(ApiText, TheEndOfTimeIsShownAsTheLastThatHasFourDigits) {
  EXPECT_EQ(format_time(kNever), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(*parse_time("9999-12-31T23:59:59.999Z")), "9999-12-31T23:59:59.999Z");
}

TEST(ApiText, WhatIsNoTimeIsNothing) {
  for (const char* text :
       {"", "2026-11-15", "2026-11-15T09:30:00", "2026-02-30T09:30:00Z", "2026-11-15T24:30:00Z",
        "2026-11-15T09:60:00Z", "1969-12-31T23:59:59Z", "2026-11-15T09:30:00.Z",
        "2026-11-15T09:30:00Zx", "2026-1-15T09:30:00Z", "9999-12-31T23:59:59.999-23:59"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(ApiText, WhatNeedsAnEscapeGetsOneWhereverItStands) {
  for (std::size_t at = 0; at < 20; ++at) {
    std::string text(20, 'a');
    EXPECT_EQ(json_text(text), '"' + text + '"');
    const std::string before = '"' + text.substr(0, at);
    const std::string after = text.substr(at + 1) + '"';
    for (const auto& [c, escaped] : std::vector<std::pair<char, std::string>>{{'"', "\\\""},
                                                                              {'\\', "\\\\"},
                                                                              {'\n', "\\u000a"},
                                                                              {'\x1f', "\\u001f"},
                                                                              {'\x7f', "\x7f"}}) {
      text[at] = c;
      EXPECT_EQ(json_text(text), before + escaped + after) << at;
    }
    text[at] = '\xff';
    EXPECT_EQ(json_text(text), before + "\xef\xbf\xbd" + after) << at;
  }
}

}  // namespace
}  // namespace once::wire

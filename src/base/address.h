// The address of a store or a queue in its parts: `scheme:place?name=value&name=value`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "once/error.h"

namespace once {

struct Address {
  std::string scheme;
  std::string place;
  std::string options;
};

// What an address without a scheme is: a directory.
inline constexpr std::string_view kDirectoryScheme = "rocksdb";

Address parse_address(std::string_view text);

// A whole number; nothing for anything else.
std::optional<std::int64_t> whole_number(std::string_view text);

// The same from 1 to 1,000, as time-outs in seconds and counts of connections are; 0 for anything
// else.
std::int64_t small_count(std::string_view text);

// By name, values percent-decoded. `invalid` for what is no list of options, or names one twice.
Result<std::map<std::string, std::string>> options_in(std::string_view text);

// Hands each to `set`, which refuses what it does not know.
using SetOption = std::function<Result<void>(const std::string& name, const std::string& value)>;
Result<void> for_each_option(const Address& address, const SetOption& set);

// `options` as the address changes them. `invalid` for an option that `set` does not take; `known`
// says which there are.
template <class Options>
Result<Options> with_options(const Address& address, Options options, std::string_view known,
                             bool (*set)(Options&, std::string_view name,
                                         const std::string& value)) {
  Result<void> ok = for_each_option(
      address, [&](const std::string& name, const std::string& value) -> Result<void> {
        if (set(options, name, value)) return {};
        return failure(ErrorCode::invalid,
                       std::string(known) + ", not \"" + name + "=" + value + "\"");
      });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return options;
}

}  // namespace once

#include "base/address.h"

#include <charconv>
#include <memory>
#include <utility>

#include "base/encoding.h"

namespace once {

namespace {

// A directory may have a question mark in its name: only its own option is one.
Address directory_address(std::string_view text) {
  const std::size_t question = text.rfind("?durability=");
  std::string options;
  if (question != std::string_view::npos) options = text.substr(question + 1);
  return {std::string(kDirectoryScheme), std::string(text.substr(0, question)), std::move(options)};
}

}  // namespace

// A directory may have a colon in its name, but not before its first slash.
Address parse_address(std::string_view text) {
  Address address;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon > text.find('/')) return directory_address(text);
  const std::string_view rest = text.substr(colon + 1);
  const std::size_t question = rest.find('?');
  address.scheme = text.substr(0, colon);
  address.place = rest.substr(0, question);
  if (question != std::string_view::npos) address.options = rest.substr(question + 1);
  return address;
}

Result<std::map<std::string, std::string>> options_in(std::string_view text) {
  std::map<std::string, std::string> options;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = percent_decode(one.substr(equals + 1));
    if (!value) {
      return failure(ErrorCode::invalid,
                     "an option of an address is NAME=VALUE, not \"" + std::string(one) + "\"");
    }
    const std::string name(one.substr(0, equals));
    if (!options.emplace(name, std::move(*value)).second) {
      return failure(ErrorCode::invalid, "option \"" + name + "\" is given twice in an address");
    }
  }
  return options;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = std::to_address(text.end());
  const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, number);
  if (error != std::errc() || stopped != end || number < 0) return std::nullopt;
  return number;
}

std::int64_t small_count(std::string_view text) {
  constexpr std::int64_t kMost = 1'000;
  const std::int64_t count = whole_number(text).value_or(0);
  return count <= kMost ? count : 0;
}

Result<void> for_each_option(const Address& address, const SetOption& set) {
  const auto given = options_in(address.options);
  if (!given) return std::unexpected(given.error());
  for (const auto& [name, value] : *given) {
    if (Result<void> ok = set(name, value); !ok) return ok;
  }
  return {};
}

}  // namespace once

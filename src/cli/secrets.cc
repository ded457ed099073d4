#include "cli/secrets.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/printable_address.h"

namespace once::cli {
namespace {

constexpr std::size_t kMaxToken = 1'024;
constexpr std::string_view kTokenOption = "--token";

// `part` is within `word`.
void overwrite(char* word, std::string_view part) {
  if (part.empty()) return;
  const auto at = static_cast<std::size_t>(part.data() - word);
  std::fill_n(word + at, part.size(), '*');
}

bool is_visible(char c) { return c > ' ' && c <= '~'; }

}  // namespace

void hide_secrets(std::span<char*> arguments) {
  bool is_token = false;
  for (char* const argument : arguments) {
    const std::string_view word(argument);
    if (word == "--") return;
    const std::string with_value = std::string(kTokenOption) + "=";
    if (is_token) {
      overwrite(argument, word);
    } else if (word.starts_with(with_value)) {
      overwrite(argument, word.substr(with_value.size()));
    } else {
      overwrite(argument, password_in(word));
    }
    is_token = !is_token && word == kTokenOption;
  }
}

Result<std::string> token_in(const std::string& file) {
  std::array<char, kMaxToken + 1> bytes{};
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), bytes.size());
  const std::string_view text(bytes.data(), static_cast<std::size_t>(in.gcount()));
  if (text.empty()) {
    return failure(ErrorCode::invalid, "no token can be read from " + file);
  }
  std::string_view token = text.substr(0, text.find('\n'));
  while (!token.empty() && !is_visible(token.back())) token.remove_suffix(1);
  if (token.empty() || token.size() > kMaxToken || !std::ranges::all_of(token, is_visible)) {
    return failure(ErrorCode::invalid, "the first line is no token: " + file);
  }
  return std::string(token);
}

}  // namespace once::cli

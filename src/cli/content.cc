#include "cli/content.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

#include "wire/json.h"
#include "wire/text.h"

namespace once::cli {
namespace {

constexpr std::size_t kMost = 256U << 20;

Result<std::string> read_all(std::istream& in, const std::string& name) {
  std::string content;
  std::array<char, 64 << 10> buffer;
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    content.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (content.size() > kMost) return failure(ErrorCode::too_large, name + " is too large");
  }
  if (in.bad()) return failure(ErrorCode::invalid, name + " cannot be read");
  return content;
}

}  // namespace

Result<std::string> content_of(const Invocation& invocation, std::size_t index) {
  const auto name = invocation.option("file");
  if (invocation.words.size() > index) {
    if (!name) return invocation.words[index];
    return failure(ErrorCode::invalid, "the content is given twice, as a word and by --file");
  }
  if (!name || *name == "-") return read_all(std::cin, "standard input");
  std::ifstream file(*name, std::ios::binary);
  if (!file) {
    return failure(ErrorCode::invalid,
                   *name + ": " + std::error_code(errno, std::generic_category()).message());
  }
  return read_all(file, *name);
}

std::string guessed_type(const std::string& content) {
  if (api::parse_json(content)) return "application/json";
  return api::is_utf8(content) ? "text/plain; charset=utf-8" : "application/octet-stream";
}

}  // namespace once::cli

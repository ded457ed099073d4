// What openapi.yaml tells, as far as tests hold the service to it.
#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace once::testing {

// "GET /v1/docs/{}" and the statuses it has.
using Operations = std::map<std::string, std::set<int>>;

inline std::string with_bare_braces(std::string path) {
  const std::size_t open = path.find('{');
  if (open != std::string::npos) path.erase(open + 1, path.find('}') - open - 1);
  return path;
}

inline std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Reads the paths by their indentation, which is all of YAML that this file needs: two spaces
// before a path, four before a method, eight and a quote before a status.
inline Operations operations_in(std::string_view openapi) {
  Operations operations;
  std::istringstream lines{std::string(openapi)};
  std::string path;
  std::string operation;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string name = line.substr(indent, line.find(':') - indent);
    if (indent == 2 && name.starts_with('/')) path = with_bare_braces(name);
    if (indent == 0 && name != "paths") path.clear();
    if (path.empty()) continue;
    if (indent == 4) operation = upper(name).append(" ").append(path);
    if (indent == 4) operations[operation];
    if (indent == 8 && name.starts_with('\'')) {
      operations[operation].insert(std::stoi(name.substr(1)));
    }
  }
  return operations;
}

// The codes that a problem may have: the words of the enum below `code:`.
inline std::set<std::string> problem_codes_in(std::string_view openapi) {
  constexpr std::string_view kBefore = "\n        code:\n          type: string\n          enum: [";
  const std::size_t at = openapi.find(kBefore);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + kBefore.size();
  std::string words(openapi.substr(from, openapi.find(']', from) - from));
  std::ranges::replace(words, ',', ' ');
  std::istringstream in(words);
  std::set<std::string> codes;
  for (std::string code; in >> code;) codes.insert(code);
  return codes;
}

}  // namespace once::testing

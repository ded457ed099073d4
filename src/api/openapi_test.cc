// openapi.yaml says what there is.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "api/call.h"
#include "api/openapi.h"

namespace once::api {
namespace {

using Operations = std::set<std::string>;  // "POST /v1/seen"

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// A path parameter is {} in the routes, whatever it is called here.
std::string pattern_of(std::string path) {
  const std::size_t open = path.find('{');
  if (open == std::string::npos) return path;
  return path.replace(open, path.find('}') - open + 1, "{}");
}

// Paths stand two spaces in, their methods four.
Operations documented() {
  Operations found;
  std::string path;
  std::istringstream in{std::string(openapi_yaml())};
  for (std::string line; std::getline(in, line) && line != "components:";) {
    if (line.starts_with("  /")) path = pattern_of(line.substr(2, line.find(':') - 2));
    const bool method = line.size() > 4 && line.starts_with("    ") && line[4] != ' ' &&
                        line.ends_with(":") && line != "    parameters:";
    if (method && !path.empty()) found.insert(upper(line.substr(4, line.size() - 5)) + " " + path);
  }
  return found;
}

TEST(OpenApi, HasEveryRouteAndNoOther) {
  Operations served;
  for (const Route& route : routes()) {
    served.insert(std::string(route.method) + " " + std::string(route.path));
  }
  EXPECT_EQ(documented(), served);
}

}  // namespace
}  // namespace once::api

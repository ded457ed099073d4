// Keys, paths and queries. The first line is a method and a target as a client sends them, the
// second a namespace, the third a name as a caller of the library gives it.
#include "base/encoding.h"
#include "fuzz/api_laws.h"
#include "primitives/keys.h"
#include "wire/text.h"

namespace once::fuzz {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// A path gives one name, and the name gives the path again.
void check_resolved(const api::Resolved& resolved, api::Service& service) {
  const bool named = resolved.route->path.find("{}") != std::string_view::npos;
  require(keys::check_namespace(resolved.call.name_space).has_value());
  if (!named) return;
  require(keys::check_name(resolved.call.name).has_value());
  std::string target(resolved.route->path);
  target.replace(target.find("{}"), 2, percent_encode(resolved.call.name));
  const api::Request again{std::string(resolved.route->method), target, {}, ""};
  const auto found = api::resolve(service, again);
  require(found.has_value());
  if (target == found->route->path) return;  // A word of another path: "read" of the tallies is.
  require(found->route == resolved.route && found->call.name == resolved.call.name);
}

void check_request(const api::Request& request) {
  api::Service service;
  if (const auto resolved = api::resolve(service, request)) check_resolved(*resolved, service);
  ApiWorld world;
  world.perform(request);
}

// A valid name survives a path unchanged; an invalid one is refused.
void check_name(const std::string& name) {
  const std::string encoded = percent_encode(name);
  require(percent_decode(encoded) == name);
  require(encoded.find_first_of("/?#&=+ ") == std::string::npos);
  api::Service service;
  const api::Request request{"GET", "/v1/docs/" + encoded, {}, ""};
  const auto resolved = api::resolve(service, request);
  require(resolved.has_value() == keys::check_name(name).has_value());
  if (resolved) require(resolved->call.name == name);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once::fuzz;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view first = take_line(text);
  const std::size_t space = std::min(first.find(' '), first.size());
  once::api::Request request{std::string(first.substr(0, space)), "", {}, ""};
  request.target = first.substr(std::min(space + 1, first.size()));
  const std::string_view name_space = take_line(text);
  if (!name_space.empty()) request.headers.add("Once-Namespace", std::string(name_space));
  check_request(request);
  check_name(std::string(text));
  return 0;
}

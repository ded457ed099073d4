#include "load/load.h"

namespace once::load {
namespace {

constexpr unsigned kDocuments = 16;

std::string framed(const LoadOptions& options, std::string_view method, const std::string& path,
                   std::string_view type, const std::string& body,
                   std::string_view condition = "") {
  std::string out(method);
  out += ' ';
  out += path;
  out += " HTTP/1.1\r\nHost: once\r\nContent-Type: ";
  out += type;
  out += "\r\nOnce-Namespace: ";
  out += options.name_space;
  if (!options.token.empty()) out += "\r\nAuthorization: Bearer " + options.token;
  out += condition;
  out += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return out += body;
}

template <class Each>
std::string array_of(unsigned count, Each each) {
  std::string out = "[";
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out += each(i);
  }
  return out += ']';
}

}  // namespace

std::string request_of(const LoadOptions& options, const std::string& run, unsigned client,
                       std::uint64_t n) {
  const std::string mine = run + "-" + std::to_string(client) + "-" + std::to_string(n);
  constexpr std::string_view kJson = "application/json";
  switch (options.workload) {
    case Workload::claims: return framed(options, "POST", "/v1/claims/" + mine, kJson, "{}");
    case Workload::seen: {
      const std::string ids = array_of(
          options.batch, [&](unsigned i) { return "\"" + mine + "-" + std::to_string(i) + "\""; });
      return framed(options, "POST", "/v1/seen", kJson, "{\"ids\":" + ids + "}");
    }
    case Workload::append: {
      const std::string events = array_of(
          options.batch, [](unsigned i) { return "{\"data\":" + std::to_string(i) + "}"; });
      return framed(options, "POST", "/v1/logs/" + run, kJson, "{\"events\":" + events + "}");
    }
    case Workload::patch: {
      const std::string path = "/v1/docs/" + run + "-" + std::to_string(client % kDocuments);
      // The first one makes the document, if no other client has.
      if (n == 0) return framed(options, "PUT", path, kJson, "{}", "\r\nIf-None-Match: *");
      const std::string patch = "{\"c" + std::to_string(client) + "\":" + std::to_string(n) + "}";
      return framed(options, "PATCH", path, "application/merge-patch+json", patch);
    }
    case Workload::tally:
      return framed(options, "POST", "/v1/tallies/" + run, kJson, R"({"kind":"sum","add":1})");
  }
  return "";
}

}  // namespace once::load

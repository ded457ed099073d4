#include "load/load.h"
#include "wire/claims.h"
#include "wire/log.h"
#include "wire/tallies.h"

namespace once::load {
namespace {

constexpr unsigned kDocuments = 16;

std::string framed(const LoadOptions& options, std::string_view method, const std::string& path,
                   std::string_view type, const std::string& body,
                   std::string_view condition = "") {
  std::string out(method);
  out += ' ';
  out += path;
  out += " HTTP/1.1\r\nHost: " + options.authority;
  out += "\r\nContent-Type: ";
  out += type;
  out += "\r\nOnce-Namespace: ";
  out += options.name_space;
  if (!options.token.empty()) out += "\r\nAuthorization: Bearer " + options.token;
  out += condition;
  out += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  return out += body;
}

std::string seen_body(const LoadOptions& options, const std::string& prefix) {
  wire::SeenRequest request;
  for (unsigned i = 0; i < options.batch; ++i) {
    request.ids.push_back(prefix + "-" + std::to_string(i));
  }
  return wire::encode(request);
}

// Events without a time can always be written.
std::string append_body(const LoadOptions& options) {
  wire::AppendBatch batch;
  for (unsigned i = 0; i < options.batch; ++i) {
    batch.events.push_back({std::to_string(i), std::nullopt});
  }
  return wire::encode(batch, wire::DataForm::json).value();
}

std::string add_body() {
  const TallyRequest one{.input = std::int64_t{1}};
  return wire::encode(one, wire::DataForm::json).value();
}

}  // namespace

std::string request_of(const LoadOptions& options, const std::string& run, unsigned client,
                       std::uint64_t n) {
  const std::string mine = run + "-" + std::to_string(client) + "-" + std::to_string(n);
  constexpr std::string_view kJson = "application/json";
  switch (options.workload) {
    case Workload::claims: return framed(options, "POST", "/v1/claims/" + mine, kJson, "{}");
    case Workload::seen:
      return framed(options, "POST", "/v1/seen", kJson, seen_body(options, mine));
    case Workload::append:
      return framed(options, "POST", "/v1/logs/" + run, kJson, append_body(options));
    case Workload::patch: {
      const std::string path = "/v1/docs/" + run + "-" + std::to_string(client % kDocuments);
      // The first one makes the document, if no other client has.
      if (n == 0) return framed(options, "PUT", path, kJson, "{}", "\r\nIf-None-Match: *");
      const std::string patch = "{\"c" + std::to_string(client) + "\":" + std::to_string(n) + "}";
      return framed(options, "PATCH", path, "application/merge-patch+json", patch);
    }
    case Workload::tally: return framed(options, "POST", "/v1/tallies/" + run, kJson, add_body());
  }
  return "";
}

}  // namespace once::load

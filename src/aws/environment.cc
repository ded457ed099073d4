#include "aws/environment.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace once::aws {

Environment process_environment() {
  return [](const std::string& name) {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
    return std::string(value == nullptr ? "" : value);
  };
}

std::string endpoint_in(const Environment& environment, const std::string& service,
                        const std::string& region) {
  std::string own = "AWS_ENDPOINT_URL_";
  for (const char c : service) own += static_cast<char>(std::toupper(c));
  for (const std::string& name : {own, std::string("AWS_ENDPOINT_URL")}) {
    if (std::string named = environment(name); !named.empty()) return named;
  }
  std::string endpoint = "https://";
  return endpoint.append(service).append(".").append(region).append(".amazonaws.com");
}

std::optional<std::string> file_content(const std::string& path) {
  constexpr std::size_t kLimit = 1U << 20U;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content(kLimit + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (file.bad() || std::cmp_greater(file.gcount(), kLimit)) return std::nullopt;
  content.resize(static_cast<std::size_t>(file.gcount()));
  return content;
}

}  // namespace once::aws

#include <iostream>
#include <string>

#include "cli/command.h"
#include "server/serve.h"

namespace once::cli {
namespace {

int run(Arguments arguments) {
  server::ServeOptions options{.store = "memory:"};
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--store") options.store = arguments[i + 1];
    if (arguments[i] == "--listen") options.listen = arguments[i + 1];
  }
  const Result<void> served =
      server::serve(options, [](const std::string& line) { std::cout << line << std::endl; });
  if (served) return kDone;
  std::cerr << "once serve: " << served.error().message << '\n';
  return 69;
}

}  // namespace

const Command kServe = {
    .name = "serve",
    .summary = "Serves the API over HTTP",
    .help = R"(Usage: once serve [--store URL] [--listen 127.0.0.1:7600]
)",
    .run = run,
};

}  // namespace once::cli

#include "open/backend.h"

#include <cstdlib>
#include <utility>

#include "directory/directory.h"
#include "local/local.h"
#include "remote/remote.h"

namespace once {

bool is_server_address(std::string_view address) {
  return address.starts_with("http://") || address.starts_with("https://");
}

namespace {

std::string or_environment(std::string token) {
  if (!token.empty()) return token;
  const char* set = std::getenv("ONCE_TOKEN");  // NOLINT(concurrency-mt-unsafe): only read.
  return set != nullptr ? set : "";
}

}  // namespace

Result<std::unique_ptr<Backend>> open_server(std::string_view url, std::string name_space,
                                             std::string token, wire::DataForm form) {
  return remote::connect(std::string(url), or_environment(std::move(token)), std::move(name_space),
                         system_clock(), system_entropy(), {}, form);
}

Result<std::unique_ptr<Backend>> open_shared(std::string_view address, std::string name_space,
                                             const OpenOptions& options, wire::DataForm form) {
  if (is_server_address(address)) {
    return open_server(address, std::move(name_space), options.token, form);
  }
  if (std::optional<std::filesystem::path> directory = directory_of(address)) {
    const auto open = [address = std::string(address), options](Duration wait_for_turn) {
      OpenOptions in_turn = options;
      in_turn.wait_for_turn = wait_for_turn;
      return open_store(address, in_turn);
    };
    return directory::share_directory({.directory = std::move(*directory),
                                       .open = open,
                                       .name_space = std::move(name_space),
                                       .token = or_environment(options.token),
                                       .form = form,
                                       .wait_for_turn = options.wait_for_turn});
  }
  Result<std::unique_ptr<Store>> store = open_store(address, options);
  if (!store) return std::unexpected(std::move(store.error()));
  if (name_space.empty()) name_space = "default";
  return std::make_unique<Local>(std::move(*store), std::move(name_space), system_clock(),
                                 system_entropy());
}

}  // namespace once

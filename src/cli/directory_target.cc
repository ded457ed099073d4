#include "cli/directory_target.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "directory/owner.h"
#include "once/open.h"

namespace once::cli {
DirectoryTarget::DirectoryTarget(std::string address, std::filesystem::path directory,
                                 std::string token, client::ClientFiles own)
    : address_(std::move(address)),
      directory_(std::move(directory)),
      token_(std::move(token)),
      own_(std::move(own)) {}

Result<void> DirectoryTarget::settle(Duration within) {
  if (server_ != nullptr || here_ != nullptr) return {};
  const auto open = [this](Duration wait) { return open_store(address_, {.wait_for_turn = wait}); };
  Result<directory::Owner> owner = directory::find_owner(
      directory_, open, std::min(within, kPatienceForTurn), system_clock(), own_);
  if (!owner) return std::unexpected(std::move(owner.error()));
  if (const auto* server = std::get_if<directory::ServerAddress>(&*owner)) {
    server_ = std::make_unique<client::HttpClient>(server->url, token_,
                                                   directory::trust_of(directory_, *server, own_));
  } else {
    auto& store = std::get<std::unique_ptr<Store>>(*owner);
    here_ = std::make_unique<InProcess>(std::move(store), directory_);
  }
  return {};
}

Result<api::Response> DirectoryTarget::send(const api::Request& request, Duration within) {
  const Deadline deadline(system_clock(), within);
  if (Result<void> settled = settle(within); !settled) return std::unexpected(settled.error());
  if (here_) return here_->call(request);
  Result<api::Response> answer = server_->call(request, deadline.left());
  if (answer || answer.error().code != ErrorCode::unavailable) return answer;
  server_.reset();  // It is gone and wrote nothing: the directory's next owner is asked.
  if (Result<void> settled = settle(deadline.left()); !settled) {
    return std::unexpected(settled.error());
  }
  return here_ ? here_->call(request) : server_->call(request, deadline.left());
}

Result<client::HttpClient*> DirectoryTarget::server() {
  if (Result<void> settled = settle(kPatience); !settled) return std::unexpected(settled.error());
  return server_.get();
}

}  // namespace once::cli

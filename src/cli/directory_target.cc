#include "cli/directory_target.h"

#include <utility>

#include "api/json.h"
#include "once/open.h"
#include "server/address_file.h"

namespace once::cli {
namespace {

constexpr Duration kPatienceForTurn = std::chrono::seconds(10);
constexpr Duration kLookAgain = std::chrono::milliseconds(250);  // For a server, while waiting.
constexpr Duration kHealthWithin = std::chrono::seconds(1);

bool is_instance(const api::Response& health, std::string_view instance) {
  const Result<api::Json> body = api::parse_json(health.body);
  std::string_view told;
  return body && body->at_key("instance").get(told) == simdjson::SUCCESS && told == instance;
}

}  // namespace

// Asked without the token: it is for the server that has the directory, not for whoever listens
// now where a server once did.
std::optional<std::string> running_server(const std::filesystem::path& directory) {
  const std::optional<server::ServerAddress> left = server::AddressFile::read(directory);
  if (!left) return std::nullopt;
  const api::Request request{"GET", "/healthz", {}, ""};
  const auto health = client::HttpClient(left->url).call(request, kHealthWithin);
  if (!health || !is_instance(*health, left->instance)) return std::nullopt;
  return left->url;
}

DirectoryTarget::DirectoryTarget(std::string address, std::filesystem::path directory,
                                 std::string token)
    : address_(std::move(address)), directory_(std::move(directory)), token_(std::move(token)) {}

std::unique_ptr<client::HttpClient> DirectoryTarget::find_server() const {
  const std::optional<std::string> url = running_server(directory_);
  return url ? std::make_unique<client::HttpClient>(*url, token_) : nullptr;
}

Result<void> DirectoryTarget::settle() {
  Clock& clock = system_clock();
  const Time give_up = clock.now() + kPatienceForTurn;
  while (server_ == nullptr && here_ == nullptr) {
    server_ = find_server();
    if (server_ != nullptr) break;
    const Time began = clock.now();
    auto store = open_store(address_, {.wait_for_turn = kLookAgain});
    if (store) {
      here_ = std::make_unique<InProcess>(std::move(*store), directory_);
      break;
    }
    // Only another process is waited for; what failed sooner will fail again.
    const bool waited = clock.now() - began >= kLookAgain;
    if (!waited || clock.now() >= give_up) return std::unexpected(std::move(store.error()));
  }
  return {};
}

Result<api::Response> DirectoryTarget::call(const api::Request& request) {
  if (Result<void> settled = settle(); !settled) return std::unexpected(settled.error());
  if (here_) return here_->call(request);
  Result<api::Response> answer = server_->call(request, kPatience);
  if (answer || answer.error().code != ErrorCode::unavailable) return answer;
  server_.reset();  // It went away, and has written nothing: whoever has the directory now, does.
  if (Result<void> settled = settle(); !settled) return std::unexpected(settled.error());
  return here_ ? here_->call(request) : server_->call(request, kPatience);
}

Result<client::HttpClient*> DirectoryTarget::server() {
  if (Result<void> settled = settle(); !settled) return std::unexpected(settled.error());
  return server_.get();
}

}  // namespace once::cli

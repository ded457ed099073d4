#include "directory/owner.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "client/http_client.h"
#include "wire/json.h"

namespace once::directory {
namespace {

std::filesystem::path file_in(const std::filesystem::path& directory) {
  return directory / "server";
}

constexpr Duration kLookAgain = std::chrono::milliseconds(250);  // For a server, while waiting.
constexpr Duration kHealthWithin = std::chrono::seconds(1);

bool is_instance(const api::Response& health, std::string_view instance) {
  const Result<api::Json> body = api::parse_json(health.body);
  std::string_view told;
  return body && body->at_key("instance").get(told) == simdjson::SUCCESS && told == instance;
}

}  // namespace

Result<AddressFile> AddressFile::write(const std::filesystem::path& directory,
                                       const ServerAddress& address) {
  const std::filesystem::path path = file_in(directory);
  const std::filesystem::path fresh = path.string() + ".new";
  std::error_code error;
  {
    std::ofstream out(fresh, std::ios::trunc);
    out << address.url << '\n' << address.instance << '\n';
    out.flush();
    if (!out) return failure(ErrorCode::unavailable, "cannot write " + fresh.string());
  }
  std::filesystem::rename(fresh, path, error);  // Readers see the whole file or none.
  if (error) return failure(ErrorCode::unavailable, "cannot write " + path.string());
  return AddressFile(path);
}

AddressFile::~AddressFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

std::optional<ServerAddress> AddressFile::read(const std::filesystem::path& directory) {
  std::ifstream in(file_in(directory));
  ServerAddress address;
  if (!std::getline(in, address.url) || !std::getline(in, address.instance)) return std::nullopt;
  return address;
}

// Asked without a token: that is for the server that has the directory, not for another program
// that listens now where the server did.
std::optional<std::string> running_server(const std::filesystem::path& directory) {
  std::optional<ServerAddress> left = AddressFile::read(directory);
  if (!left) return std::nullopt;
  const api::Request request{"GET", "/healthz", {}, ""};
  const auto health = client::HttpClient(left->url).call(request, kHealthWithin);
  if (!health || !is_instance(*health, left->instance)) return std::nullopt;
  return std::move(left->url);
}

Result<Owner> find_owner(const std::filesystem::path& directory, const OpenStore& open,
                         Duration within, Clock& clock) {
  const Time give_up = later(clock.now(), within);
  for (;;) {
    if (std::optional<std::string> url = running_server(directory)) return std::move(*url);
    const Time began = clock.now();
    const Duration turn = std::clamp(give_up - began, Duration::zero(), kLookAgain);
    Result<std::unique_ptr<Store>> store = open(turn);
    if (store) return std::move(*store);
    // Only another process is waited for; what failed sooner will fail again.
    const bool waited = clock.now() - began >= turn;
    if (!waited || clock.now() >= give_up) return std::unexpected(std::move(store.error()));
  }
}

}  // namespace once::directory

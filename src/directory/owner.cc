#include "directory/owner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

#include "client/http_client.h"
#include "net/tls.h"
#include "once/entropy.h"
#include "wire/json.h"
#include "wire/proof.h"
#include "wire/text.h"

namespace once::directory {
namespace {

std::filesystem::path file_in(const std::filesystem::path& directory) {
  return directory / "server";
}

constexpr Duration kLookAgain = std::chrono::milliseconds(250);  // For a server, while waiting.
constexpr Duration kHealthWithin = std::chrono::seconds(1);

// Whether the answer to a challenge has the proof that was asked for.
bool has_proof(const api::Response& health, std::string_view proof) {
  const Result<api::Json> body = api::parse_json(health.body);
  std::string_view told;
  return body && body->at_key("proof").get(told) == simdjson::SUCCESS && told == proof;
}

// Answered by the server that left this address, and by no other.
client::MakeChallenge challenge_of(const ServerAddress& address) {
  return [address] {
    const auto [high, low] = system_entropy().unguessable();
    const std::string number = api::hex_text(high) + api::hex_text(low);
    client::Challenge challenge{.request = {"GET", "/healthz", {}, ""}, .is_answered_by = {}};
    challenge.request.headers.add(std::string(wire::kProve), number);
    challenge.is_answered_by =
        [proof = wire::proof_of(address.secret, number, address.url)](const api::Response& answer) {
          return has_proof(answer, proof);
        };
    return challenge;
  };
}

constexpr mode_t kOwnerOnly = 0600;
constexpr std::size_t kMostBytes = 4'096;  // Of the file with the address.

// A new file at `path`, which another user can neither read nor have put there.
bool write_private(const std::filesystem::path& path, std::string_view text) {
  ::unlink(path.c_str());
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly);
  if (file < 0) return false;
  const ssize_t written = ::write(file, text.data(), text.size());
  const bool closed = ::close(file) == 0;
  return closed && written == std::ssize(text);
}

std::string text_of(const ServerAddress& address) {
  std::string text = address.url + '\n' + address.instance + '\n' + address.secret + '\n';
  for (const std::string& one : address.certificates) text.append(one).append(" ");
  if (!address.certificates.empty()) text.back() = '\n';
  return text;
}

// Empty if it is no file of root or of the user whose directory it is in: another may have left it.
std::string read_private(const std::filesystem::path& directory,
                         const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  struct stat found{};
  struct stat home{};
  const bool ours = ::fstat(file, &found) == 0 && S_ISREG(found.st_mode) &&
                    ::stat(directory.c_str(), &home) == 0 &&
                    (found.st_uid == home.st_uid || found.st_uid == 0);
  std::array<char, kMostBytes> text{};
  const ssize_t size = ours ? ::read(file, text.data(), text.size()) : 0;
  ::close(file);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

Result<AddressFile> AddressFile::write(const std::filesystem::path& directory,
                                       const ServerAddress& address) {
  AddressFile file(file_in(directory));
  if (Result<void> ok = file.rewrite(address); !ok) return std::unexpected(std::move(ok.error()));
  return file;
}

Result<void> AddressFile::rewrite(const ServerAddress& address) const {
  const std::filesystem::path fresh = path_.string() + ".new";
  if (!write_private(fresh, text_of(address))) {
    return failure(ErrorCode::unavailable, "cannot write " + fresh.string());
  }
  std::error_code error;
  std::filesystem::rename(fresh, path_, error);  // Readers see the whole file or none.
  if (error) return failure(ErrorCode::unavailable, "cannot write " + path_.string());
  return {};
}

AddressFile::~AddressFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

std::optional<ServerAddress> AddressFile::read(const std::filesystem::path& directory) {
  std::istringstream in(read_private(directory, file_in(directory)));
  ServerAddress address;
  const bool whole = std::getline(in, address.url) && std::getline(in, address.instance) &&
                     std::getline(in, address.secret);
  if (!whole || address.secret.empty()) return std::nullopt;
  for (std::string one; in >> one;) address.certificates.push_back(one);
  return address;
}

client::ServerTrust trust_of(const std::filesystem::path& directory, const ServerAddress& address,
                             const client::ClientFiles& own) {
  client::ServerTrust trust{.challenge = challenge_of(address), .tls = {}};
  if (address.certificates.empty()) return trust;
  trust.tls = [directory, own]() -> Result<client::SharedTls> {
    std::optional<ServerAddress> now = AddressFile::read(directory);
    if (!now) return failure(ErrorCode::unavailable, "no server has the directory any more");
    Result<std::unique_ptr<net::TlsContext>> made = net::make_pinned_tls_context(
        std::move(now->certificates), {.certificate = own.certificate, .key = own.key});
    if (!made) return std::unexpected(std::move(made.error()));
    return std::move(*made);
  };
  return trust;
}

std::optional<ServerAddress> running_server(const std::filesystem::path& directory,
                                            const client::ClientFiles& own) {
  std::optional<ServerAddress> left = AddressFile::read(directory);
  if (!left) return std::nullopt;
  client::HttpClient server(left->url, "", trust_of(directory, *left, own));
  if (!server.prepare(kHealthWithin)) return std::nullopt;
  return left;
}

Result<Owner> find_owner(const std::filesystem::path& directory, const OpenStore& open,
                         Duration within, Clock& clock, const client::ClientFiles& own) {
  const Time give_up = later(clock.now(), within);
  // If the lock is free, no server has the directory, whatever listens at the address.
  Result<std::unique_ptr<Store>> store = open(Duration::zero());
  if (store) return std::move(*store);
  for (;;) {
    if (std::optional<ServerAddress> server = running_server(directory, own)) {
      return std::move(*server);
    }
    const Time began = clock.now();
    const Duration turn = std::clamp(give_up - began, Duration::zero(), kLookAgain);
    store = open(turn);
    if (store) return std::move(*store);
    // Only another process is waited for; what failed sooner will fail again.
    const bool waited = clock.now() - began >= turn;
    if (!waited || clock.now() >= give_up) return std::unexpected(std::move(store.error()));
  }
}

}  // namespace once::directory

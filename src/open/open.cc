#include "once/open.h"

#include <cstdlib>
#include <utility>

#include "client/http_client.h"
#include "directory/directory.h"
#include "local/local.h"
#include "once/marked_store.h"
#include "open/backend.h"
#include "open/store_kinds.h"
#include "remote/remote.h"

namespace once {
namespace {

// "memory:, rocksdb: and s3:, or a directory".
std::string list_of_kinds() {
  const auto kinds = store_kinds();
  std::string list;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i > 0) list += i + 1 == kinds.size() ? " and " : ", ";
    list += std::string(kinds[i].scheme) + ":";
  }
  return store_kind(kDirectoryScheme) == nullptr ? list : list + ", or a directory";
}

std::unexpected<Error> no_table() {
  std::string list;
  for (const StoreKind& kind : store_kinds()) {
    if (kind.create_table == nullptr) continue;
    list += (list.empty() ? "" : ", ") + std::string(kind.scheme) + "://";
  }
  return failure(ErrorCode::unsupported,
                 list.empty() ? "no store of this build has a table"
                              : "only " + list + " need a table made; other stores do not");
}

std::string or_environment(std::string value, const char* name) {
  if (!value.empty()) return value;
  const char* set = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): only read.
  return set != nullptr ? set : "";
}

std::string token_of(const OpenOptions& options) {
  return or_environment(options.token, "ONCE_TOKEN");
}

client::ClientFiles files_of(const OpenOptions& options) {
  return {.ca = or_environment(options.ca, "ONCE_CA"),
          .certificate = or_environment(options.client_cert, "ONCE_CLIENT_CERT"),
          .key = or_environment(options.client_key, "ONCE_CLIENT_KEY")};
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::string_view text, const OpenOptions& options) {
  if (is_server_address(text)) {
    return failure(ErrorCode::unsupported, "a server is no store; once::open() takes its address");
  }
  if (text.empty()) return failure(ErrorCode::invalid, "a store's address is empty");
  const Address address = parse_address(text);
  const StoreKind* const kind = store_kind(address.scheme);
  if (kind == nullptr) {
    return failure(ErrorCode::unsupported,
                   "no store \"" + address.scheme + ":\"; there are " + list_of_kinds());
  }
  Result<std::unique_ptr<Store>> store = kind->open(address, options);
  if (!store || !kind->is_server) return store;
  const Time now = (*store)->now();
  return mark(std::move(*store), birth_mark(now));
}

Result<void> create_table(std::string_view text, const std::string& role) {
  const Address address = parse_address(text);
  const StoreKind* const kind = store_kind(address.scheme);
  if (kind == nullptr || kind->create_table == nullptr) return no_table();
  return kind->create_table(address, role);
}

Result<std::string> table_sql(std::string_view text, const std::string& role) {
  const Address address = parse_address(text);
  const StoreKind* const kind = store_kind(address.scheme);
  if (kind == nullptr || kind->create_table == nullptr) return no_table();
  if (kind->table_sql == nullptr) {
    return failure(ErrorCode::unsupported,
                   "the table of " + address.scheme + ": is not made by SQL");
  }
  return kind->table_sql(address, role);
}

Result<std::string> check_table(std::string_view text) {
  const Address address = parse_address(text);
  const StoreKind* const kind = store_kind(address.scheme);
  if (kind == nullptr || kind->check_table == nullptr) return no_table();
  return kind->check_table(address);
}

std::optional<std::filesystem::path> directory_of(std::string_view text) {
  Address address = parse_address(text);
  if (address.scheme != kDirectoryScheme || address.place.empty()) return std::nullopt;
  return std::move(address.place);
}

// Of several kinds that can, one knows the store; the others refuse it as `unsupported`.
Result<void> checkpoint(Store& store, const std::filesystem::path& to) {
  for (const StoreKind& kind : store_kinds()) {
    if (kind.checkpoint == nullptr) continue;
    Result<void> done = kind.checkpoint(store, to);
    if (done || done.error().code != ErrorCode::unsupported) return done;
  }
  return failure(ErrorCode::unsupported, "only a store in a directory can be copied");
}

bool is_server_address(std::string_view address) {
  return address.starts_with("http://") || address.starts_with("https://");
}

Result<std::unique_ptr<Backend>> open_server(std::string_view url, std::string name_space,
                                             const OpenOptions& options, wire::DataForm form) {
  Result<client::SharedTls> tls = client::read_tls(files_of(options));
  if (!tls) return std::unexpected(std::move(tls.error()));
  return remote::connect(std::string(url), token_of(options), std::move(name_space), system_clock(),
                         system_entropy(), {}, form, client::trusting(std::move(*tls)));
}

Result<std::unique_ptr<Backend>> open_shared(std::string_view address, std::string name_space,
                                             const OpenOptions& options, wire::DataForm form) {
  if (is_server_address(address)) {
    return open_server(address, std::move(name_space), options, form);
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
                                       .token = token_of(options),
                                       .form = form,
                                       .own = files_of(options),
                                       .wait_for_turn = options.wait_for_turn});
  }
  Result<std::unique_ptr<Store>> store = open_store(address, options);
  if (!store) return std::unexpected(std::move(store.error()));
  if (name_space.empty()) name_space = "default";
  return std::make_unique<Local>(std::move(*store), std::move(name_space), system_clock(),
                                 system_entropy());
}

std::vector<EngineNumber> engine_numbers(Store& store) {
  for (const StoreKind& kind : store_kinds()) {
    if (kind.numbers == nullptr) continue;
    std::vector<EngineNumber> numbers = kind.numbers(store);
    if (!numbers.empty()) return numbers;
  }
  return {};
}

Result<void> check_writable(Store& store) {
  if (auto* const marked = dynamic_cast<MarkedStore*>(&store)) {
    return check_writable(marked->unmarked());
  }
  for (const StoreKind& kind : store_kinds()) {
    if (kind.check_writable == nullptr) continue;
    Result<void> writable = kind.check_writable(store);
    if (writable || writable.error().code != ErrorCode::unsupported) return writable;
  }
  return {};
}

std::unique_ptr<HomeWatch> watch_homes(std::string_view text) {
  const Address address = parse_address(text);
  const StoreKind* const kind = store_kind(address.scheme);
  return kind != nullptr && kind->watch_homes != nullptr ? kind->watch_homes(address) : nullptr;
}

Result<Once> open(std::string_view address, std::string name_space, const OpenOptions& options) {
  if (is_server_address(address)) {
    Result<std::unique_ptr<Backend>> server = open_server(address, std::move(name_space), options);
    if (!server) return std::unexpected(std::move(server.error()));
    return Once(std::move(*server));
  }
  Result<std::unique_ptr<Store>> store = open_store(address, options);
  if (!store) return std::unexpected(std::move(store.error()));
  return Once(std::move(*store), std::move(name_space));
}

}  // namespace once

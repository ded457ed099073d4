#include "once/open.h"

#include <cstdlib>
#include <utility>

#include "once/memory_store.h"
#include "open/address.h"
#include "remote/remote.h"
#ifdef ONCE_HAS_DYNAMODB
#include "open/dynamodb.h"
#endif
#ifdef ONCE_HAS_REDIS
#include "open/redis.h"
#endif
#ifdef ONCE_HAS_S3
#include "open/s3.h"
#endif
#ifdef ONCE_HAS_ROCKSDB
#include "once/rocksdb_store.h"
#endif

namespace once {
namespace {

using Opened = Result<std::unique_ptr<Store>>;

Opened open_embedded([[maybe_unused]] const Address& address,
                     [[maybe_unused]] const OpenOptions& wanted) {
#ifdef ONCE_HAS_ROCKSDB
  RocksDbOptions options{.directory = address.place,
                         .wait_for_turn = wanted.wait_for_turn,
                         .sweep_every = wanted.sweep_every};
  if (address.options == "durability=relaxed") {
    options.durability = Durability::relaxed;
  } else if (!address.options.empty() && address.options != "durability=synced") {
    return failure(ErrorCode::invalid, "rocksdb has one option: durability=synced or relaxed");
  }
  return open_rocksdb(options);
#else
  return failure(ErrorCode::unsupported, "this build has no embedded store");
#endif
}

bool is_server(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

Result<Once> open_server(std::string_view url, std::string name_space, std::string token) {
  if (token.empty()) {
    const char* set = std::getenv("ONCE_TOKEN");  // NOLINT(concurrency-mt-unsafe): only read.
    if (set != nullptr) token = set;
  }
  Result<std::unique_ptr<Backend>> server = remote::connect(
      std::string(url), std::move(token), std::move(name_space), system_clock(), system_entropy());
  if (!server) return std::unexpected(std::move(server.error()));
  return Once(std::move(*server));
}

Opened open_table([[maybe_unused]] const Address& address) {
#ifdef ONCE_HAS_DYNAMODB
  const Result<DynamoDbOptions> options = dynamodb_options(address);
  if (!options) return std::unexpected(options.error());
  return open_dynamodb(*options);
#else
  return failure(ErrorCode::unsupported, "this build has no store on DynamoDB");
#endif
}

Opened open_server([[maybe_unused]] const Address& address) {
#ifdef ONCE_HAS_REDIS
  const Result<RedisOptions> options = redis_options(address);
  if (!options) return std::unexpected(options.error());
  return open_redis(*options);
#else
  return failure(ErrorCode::unsupported, "this build has no store on Redis");
#endif
}

Opened open_bucket([[maybe_unused]] const Address& address) {
#ifdef ONCE_HAS_S3
  const Result<S3Options> options = s3_options(address);
  if (!options) return std::unexpected(options.error());
  return open_s3(*options);
#else
  return failure(ErrorCode::unsupported, "this build has no store on S3");
#endif
}

std::unexpected<Error> needs_nothing() {
  return failure(ErrorCode::unsupported, "only dynamodb:// has a table; other stores need none");
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(std::string_view text, const OpenOptions& options) {
  if (is_server(text)) {
    return failure(ErrorCode::unsupported, "a server is no store; once::open() takes its address");
  }
  const Address address = parse_address(text);
  if (address.scheme == "memory") {
    if (address.place.empty() && address.options.empty()) return open_memory();
    return failure(ErrorCode::invalid, "memory: takes neither a place nor options");
  }
  if (address.scheme == "rocksdb") {
    if (!address.place.empty()) return open_embedded(address, options);
    return failure(ErrorCode::invalid, "a store's address is empty");
  }
  if (address.scheme == "dynamodb") return open_table(address);
  if (address.scheme == "redis" || address.scheme == "rediss") return open_server(address);
  if (address.scheme == "s3") return open_bucket(address);
  return failure(ErrorCode::unsupported,
                 "no store \"" + address.scheme +
                     ":\"; there are memory:, rocksdb:, dynamodb:, redis: and s3:, or a directory");
}

Result<void> create_table([[maybe_unused]] std::string_view text) {
#ifdef ONCE_HAS_DYNAMODB
  const Address address = parse_address(text);
  if (address.scheme != "dynamodb") return needs_nothing();
  const Result<DynamoDbOptions> options = dynamodb_options(address);
  if (!options) return std::unexpected(options.error());
  return create_dynamodb_table(*options);
#else
  return needs_nothing();
#endif
}

Result<std::string> check_table([[maybe_unused]] std::string_view text) {
#ifdef ONCE_HAS_DYNAMODB
  const Address address = parse_address(text);
  if (address.scheme != "dynamodb") return needs_nothing();
  const Result<DynamoDbOptions> options = dynamodb_options(address);
  if (!options) return std::unexpected(options.error());
  return check_dynamodb_table(*options);
#else
  return needs_nothing();
#endif
}

std::optional<std::filesystem::path> directory_of(std::string_view text) {
  Address address = parse_address(text);
  if (address.scheme != "rocksdb" || address.place.empty()) return std::nullopt;
  return std::move(address.place);
}

Result<void> checkpoint([[maybe_unused]] Store& store,
                        [[maybe_unused]] const std::filesystem::path& to) {
#ifdef ONCE_HAS_ROCKSDB
  return checkpoint_rocksdb(store, to);
#else
  return failure(ErrorCode::unsupported, "this build has no embedded store");
#endif
}

Result<Once> open(std::string_view address, std::string name_space, const OpenOptions& options) {
  if (is_server(address)) return open_server(address, std::move(name_space), options.token);
  Result<std::unique_ptr<Store>> store = open_store(address, options);
  if (!store) return std::unexpected(std::move(store.error()));
  return Once(std::move(*store), std::move(name_space));
}

}  // namespace once

#include "primitives/store_secret.h"

#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/record.h"

namespace once {
namespace {

constexpr std::uint8_t kSecretFormat = 1;

}  // namespace

Bytes encode(const StoreSecret& secret) {
  RecordWriter out(RecordKind::secret, kSecretFormat);
  out.number(secret.key[0]);
  out.number(secret.key[1]);
  out.time(secret.created);
  return out.finish();
}

Result<StoreSecret> decode_secret(const Value& value) {
  const Bytes* const bytes = std::get_if<Bytes>(&value);
  if (bytes == nullptr) return failure(ErrorCode::corrupt, "the store's secret is a number");
  Result<RecordReader> in = RecordReader::open(*bytes, RecordKind::secret, kSecretFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  StoreSecret secret;
  secret.key[0] = in->number();
  secret.key[1] = in->number();
  secret.created = in->time();
  if (!in->sound()) return failure(ErrorCode::corrupt, "the store's secret does not parse");
  return secret;
}

Plan<const StoreSecret*> read_store_secret() {
  detail::SecretCell* const cell = co_await store_secret();
  const Key key = keys::store_secret();
  std::optional<Item> current = co_await get(key);
  for (;;) {
    if (current) {
      const Result<StoreSecret> known = decode_secret(current->value);
      if (known) co_return cell->set(*known);
      if (known.error().code != ErrorCode::corrupt) co_return std::unexpected(known.error());
    }
    StoreSecret fresh;
    fresh.key = co_await unguessable();
    fresh.created = co_await store_now();
    Write write = put(key, encode(fresh), current ? unchanged(current->version) : absent_lasting());
    const CommitOutcome outcome = co_await commit_resolved(write);
    if (committed(outcome)) co_return cell->set(fresh);
    current = std::get<Lost>(outcome).current;
  }
}

}  // namespace once

#include "primitives/store_secret.h"

#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/listing.h"
#include "primitives/record.h"

namespace once {
namespace {

constexpr std::uint8_t kSecretFormat = 2;
constexpr std::uint8_t kWithOldMarks = 1;

// Whether the store has had claims before it had a secret of this format. A store with so much else
// that this is not clear at once may have.
Plan<bool> has_claims() {
  bool found = false;
  const WalkRequest one{std::string(keys::kClaims), "", 1};
  const IsFound any = [&found](ListPage::Listed&, Time) -> Result<bool> { return found = true; };
  const Result<std::string> cursor = co_await attempt(walk(one, any));
  if (is_transient(cursor)) co_return std::unexpected(cursor.error());
  co_return found || !cursor || !cursor->empty();
}

}  // namespace

Bytes encode(const StoreSecret& secret) {
  RecordWriter out(RecordKind::secret, secret.old_marks ? kWithOldMarks : kSecretFormat);
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
  secret.old_marks = in->format() == kWithOldMarks;
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
    fresh.old_marks = co_await has_claims();
    Write write = put(key, encode(fresh), current ? unchanged(current->version) : absent_lasting());
    const CommitOutcome outcome = co_await commit_resolved(write);
    if (committed(outcome)) co_return cell->set(fresh);
    current = std::get<Lost>(outcome).current;
  }
}

}  // namespace once

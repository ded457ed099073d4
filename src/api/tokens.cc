#include "api/tokens.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <array>

#include "api/digest.h"
#include "primitives/keys.h"
#include "primitives/landing.h"
#include "primitives/record.h"
#include "primitives/text_armor.h"

namespace once::tokens {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kMaxTokens = 10'000;
constexpr std::string_view kPrefix = "once_";

}  // namespace

Result<std::string> new_secret() {
  std::array<char, kSecretBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failure(ErrorCode::unavailable, "the operating system gives no random bytes");
  }
  return std::string(kPrefix) + armored({bytes.data(), bytes.size()});
}

std::string id_of(std::string_view secret) { return api::digest_of(secret); }

Bytes encode(const Grant& grant) {
  RecordWriter out(RecordKind::token, kFormat);
  out.bytes(grant.name_space);
  out.number(grant.read_only ? 1 : 0);
  out.bytes(grant.label);
  out.time(grant.created);
  return out.finish();
}

Result<Grant> decode_grant(const Value& value) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  if (bytes == nullptr) return failure(ErrorCode::corrupt, "a token's key holds a number");
  Result<RecordReader> in = RecordReader::open(*bytes, RecordKind::token, kFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  Grant grant;
  grant.name_space = in->bytes();
  grant.read_only = in->number(1) == 1;
  grant.label = in->bytes();
  grant.created = in->time();
  if (!in->sound()) return failure(ErrorCode::corrupt, "a token's record does not parse");
  return grant;
}

Plan<std::monostate> keep(std::string id, Grant grant) {
  Write write = put(keys::token(id), encode(grant), absent_lasting());
  const CommitOutcome outcome = co_await land(write);
  if (!committed(outcome)) co_return failure(ErrorCode::invalid, "there is such a token already");
  co_return std::monostate{};
}

Plan<bool> revoke(std::string id) {
  const Key key = keys::token(id);
  const std::optional<Item> standing = co_await get(key);
  if (!standing) co_return false;
  Write write = erase(key, anything());  // However often it is sent, the token is gone.
  co_await commit(write);
  co_return true;
}

Plan<std::vector<Token>> list() {
  std::vector<Token> tokens;
  ListRequest request{std::string(keys::kTokens), "", kMaxPage};
  do {
    const ListPage page = co_await once::list(request);
    for (const ListPage::Listed& listed : page.items) {
      Result<Grant> grant = decode_grant(listed.item.value);
      if (!grant) co_return std::unexpected(std::move(grant.error()));
      tokens.push_back({listed.key.partition.home.substr(keys::kTokens.size()), *grant});
    }
    request.cursor = page.cursor;
  } while (!request.cursor.empty() && tokens.size() < kMaxTokens);
  co_return std::move(tokens);
}

void Table::replace(std::vector<Token> tokens) {
  std::unordered_map<std::string, Grant> grants;
  for (Token& token : tokens) grants.emplace(std::move(token.id), std::move(token.grant));
  const Lock lock(mutex_);
  grants_.swap(grants);
}

void Table::add(const Token& token) {
  const Lock lock(mutex_);
  grants_.insert_or_assign(token.id, token.grant);
}

void Table::remove(const std::string& id) {
  const Lock lock(mutex_);
  grants_.erase(id);
}

bool Table::empty() const {
  const Lock lock(mutex_);
  return grants_.empty();
}

// What is looked up is a hash, so how long that takes says nothing about the secret.
std::optional<Grant> Table::find(std::string_view secret) const {
  const std::string id = id_of(secret);
  const Lock lock(mutex_);
  const auto found = grants_.find(id);
  if (found == grants_.end()) return std::nullopt;
  if (CRYPTO_memcmp(found->first.data(), id.data(), id.size()) != 0) return std::nullopt;
  return found->second;
}

}  // namespace once::tokens

#include "api/tokens.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <array>

#include "api/call.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "primitives/commit_resolved.h"
#include "primitives/keys.h"
#include "primitives/record.h"

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
  return std::string(kPrefix) + base64url_encode({bytes.data(), bytes.size()});
}

std::string id_of(std::string_view secret) { return sha256_hex(secret); }

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
  const CommitOutcome outcome = co_await commit_resolved(write);
  if (!committed(outcome)) co_return failure(ErrorCode::invalid, "there is such a token already");
  co_return std::monostate{};
}

Plan<bool> revoke(std::string id) {
  const Key key = keys::token(id);
  const std::optional<Item> current = co_await get(key);
  if (!current) co_return false;
  Write write = erase(key, anything());  // Safe to send twice.
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

// Looks up a hash, so the time it takes reveals nothing about the secret.
std::optional<Grant> Table::find(std::string_view secret) const {
  const std::string id = id_of(secret);
  const Lock lock(mutex_);
  const auto found = grants_.find(id);
  if (found == grants_.end()) return std::nullopt;
  if (CRYPTO_memcmp(found->first.data(), id.data(), id.size()) != 0) return std::nullopt;
  return found->second;
}

}  // namespace once::tokens

// Over the API, so that `once token` works while a server owns the directory.
namespace once::api {
namespace {

constexpr std::size_t kMaxTokenLabel = 256;

JsonObject token_json(const tokens::Token& token) {
  JsonObject out;
  out.text("id", token.id).text("label", token.grant.label);
  if (token.grant.name_space.empty()) {
    out.raw("namespace", "null");
  } else {
    out.text("namespace", token.grant.name_space);
  }
  out.boolean("read_only", token.grant.read_only).time("created_at", token.grant.created);
  return out;
}

Plan<Response> make_and_keep(tokens::Table* table, std::string secret, tokens::Grant grant) {
  tokens::Token token{tokens::id_of(secret), std::move(grant)};
  token.grant.created = co_await store_now();
  co_await tokens::keep(token.id, token.grant);
  table->add(token);
  co_return json_response(201, token_json(token).text("token", secret).finish());
}

Plan<Response> list_all() {
  const std::vector<tokens::Token> all = co_await tokens::list();
  JsonObject body;
  body.raw("tokens",
           json_array(all, [](const tokens::Token& token) { return token_json(token).finish(); }));
  co_return json_response(200, body.finish());
}

Plan<Response> revoke(tokens::Table* table, std::string id) {
  const bool found = co_await tokens::revoke(id);
  table->remove(id);
  if (!found) co_return problem(Code::not_found, "there is no such token");
  co_return Response{204, {}, ""};
}

}  // namespace

Answer make_token(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  tokens::Grant grant{.name_space = fields.text("namespace").value_or(""),
                      .read_only = fields.boolean("read_only").value_or(false),
                      .label = fields.text("label").value_or("")};
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  if (grant.label.size() > kMaxTokenLabel) return problem(Code::invalid, "label is too long");
  if (!grant.name_space.empty()) {
    if (Result<void> ok = keys::check_namespace(grant.name_space); !ok) return problem(ok.error());
  }
  Result<std::string> secret = tokens::new_secret();
  if (!secret) return problem(secret.error());
  return make_and_keep(&call.service.tokens(), std::move(*secret), std::move(grant));
}

Answer list_tokens(Call&) { return list_all(); }

Answer revoke_token(Call& call) { return revoke(&call.service.tokens(), call.name); }

}  // namespace once::api

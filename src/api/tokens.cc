#include "api/tokens.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <array>

#include "api/audit.h"
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
constexpr std::size_t kMaxDamaged = 1'000;
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

Plan<std::monostate> mark_closed() {
  const Key key = keys::token(kClosed);
  const std::optional<Item> current = co_await get(key);
  if (current) co_return std::monostate{};
  Grant nobody{.read_only = true, .label = "this store had a token, and stays closed"};
  nobody.created = co_await store_now();
  Write write = put(key, encode(nobody), absent_lasting());
  co_await commit_resolved(write);  // If it lost, another has marked it.
  co_return std::monostate{};
}

Plan<std::monostate> keep(std::string id, Grant grant, Recording recording) {
  Write write = put(keys::token(id), encode(grant), absent_lasting(), grant.expires);
  const CommitOutcome outcome = co_await commit_recorded(write, std::move(recording));
  if (!committed(outcome)) co_return failure(ErrorCode::invalid, "there is such a token already");
  const Result<std::monostate> marked = co_await attempt(mark_closed());
  if (marked) co_return std::monostate{};
  co_return failure(ErrorCode::unknown,
                    "the token is stored, and nobody knows it: revoke it, and make another");
}

// Marked before the last one is gone, so that there is always a token or the mark.
Plan<bool> revoke(std::string id, Recording recording) {
  if (id == kClosed) co_return false;
  const Key key = keys::token(id);
  const std::optional<Item> current = co_await get(key);
  if (!current) co_return false;
  co_await mark_closed();
  // Nothing replaces a token: if it has changed, it is gone. Of two who revoke it one is recorded.
  Write write = erase(key, unchanged(current->version));
  co_await commit_recorded(write, std::move(recording));
  co_return true;
}

// One record that cannot be read must not keep the others from being known, or from being revoked.
Plan<Listing> list() {
  Listing known;
  ListRequest request{std::string(keys::kTokens), "", kMaxPage};
  do {
    const ListPage page = co_await once::list(request);
    for (const ListPage::Listed& listed : page.items) {
      std::string id = listed.key.partition.home.substr(keys::kTokens.size());
      Result<Grant> grant = decode_grant(listed.item.value);
      if (id == kClosed) {
        known.has_mark = true;
      } else if (grant) {
        grant->expires = listed.item.expiry;
        known.tokens.push_back({std::move(id), std::move(*grant)});
      } else if (known.damaged.size() < kMaxDamaged) {
        known.damaged.push_back(std::move(id));
      }
    }
    request.cursor = page.cursor;
  } while (!request.cursor.empty() && known.tokens.size() < kMaxTokens);
  co_return std::move(known);
}

void Table::replace(Listing listing, Time asked) {
  const bool is_closed = listing.is_closed();
  std::unordered_map<std::string, Grant> grants;
  for (Token& token : listing.tokens) grants.emplace(std::move(token.id), std::move(token.grant));
  const Lock lock(mutex_);
  grants_.swap(grants);
  closed_ |= is_closed;
  distrusted_ = false;
  asked_ = asked;
}

void Table::add(const Token& token) {
  const Lock lock(mutex_);
  grants_.insert_or_assign(token.id, token.grant);
  closed_ = true;
}

void Table::remove(const std::string& id) {
  const Lock lock(mutex_);
  grants_.erase(id);
}

void Table::distrust() {
  const Lock lock(mutex_);
  distrusted_ = true;
  closed_ = true;
}

bool Table::empty() const {
  const Lock lock(mutex_);
  return grants_.empty();
}

std::set<std::string> Table::namespaces() const {
  std::set<std::string> names;
  const Lock lock(mutex_);
  for (const auto& [id, grant] : grants_) {
    if (!grant.name_space.empty()) names.insert(grant.name_space);
  }
  return names;
}

bool Table::is_closed() const {
  const Lock lock(mutex_);
  return closed_;
}

bool Table::is_trusted() const {
  const Time now = clock_.now();
  const Lock lock(mutex_);
  return !distrusted_ && (!asked_ || now - *asked_ < trust_.load());
}

std::optional<Duration> Table::age() const {
  const Time now = clock_.now();
  const Lock lock(mutex_);
  if (!asked_) return std::nullopt;
  return now - *asked_;
}

// Looks up a hash, so the time it takes reveals nothing about the secret.
std::optional<Grant> Table::find(std::string_view secret) const {
  const std::string id = id_of(secret);
  const Lock lock(mutex_);
  const auto found = grants_.find(id);
  if (found == grants_.end()) return std::nullopt;
  if (CRYPTO_memcmp(found->first.data(), id.data(), id.size()) != 0) return std::nullopt;
  if (found->second.expires <= clock_.now()) return std::nullopt;
  return found->second;
}

}  // namespace once::tokens

// Over the API, so that `once token` works while a server owns the directory.
namespace once::api {
namespace {

constexpr std::size_t kMaxTokenLabel = 256;
constexpr Duration kMaxTokenLife = std::chrono::days(3'650);

JsonObject token_json(const tokens::Token& token) {
  JsonObject out;
  out.text("id", token.id).text("label", token.grant.label);
  if (token.grant.name_space.empty()) {
    out.raw("namespace", "null");
  } else {
    out.text("namespace", token.grant.name_space);
  }
  out.boolean("read_only", token.grant.read_only).time("created_at", token.grant.created);
  if (token.grant.expires != kNever) out.time("expires_at", token.grant.expires);
  return out;
}

Plan<Response> make_and_keep(tokens::Table* table, std::string secret, tokens::Grant grant,
                             std::optional<Duration> life, Recording recording) {
  tokens::Token token{tokens::id_of(secret), std::move(grant)};
  token.grant.created = co_await store_now();
  if (life) token.grant.expires = token.grant.created + *life;
  co_await tokens::keep(token.id, token.grant, std::move(recording));
  table->add(token);
  co_return json_response(201, token_json(token).text("token", secret).finish());
}

Plan<Response> list_all() {
  const tokens::Listing all = co_await tokens::list();
  JsonObject body;
  body.raw("tokens", json_array(all.tokens, [](const tokens::Token& token) {
             return token_json(token).finish();
           }));
  if (!all.damaged.empty()) body.raw("damaged", json_array(all.damaged, json_text));
  co_return json_response(200, body.finish());
}

Plan<Response> revoke(tokens::Table* table, std::string id, Recording recording) {
  const bool found = co_await tokens::revoke(id, std::move(recording));
  table->remove(id);
  if (!found) co_return problem(Code::not_found, "there is no such token");
  co_return Response{204, {}, ""};
}

}  // namespace

Answer make_token(Call& call) {
  const Result<Json> body = call.json();
  if (!body) return problem(body.error());
  Fields fields(*body);
  const std::optional<std::string> name_space = fields.text("namespace");
  const std::optional<Duration> life = fields.duration("expires");
  tokens::Grant grant{.name_space = name_space.value_or(""),
                      .read_only = fields.boolean("read_only").value_or(false),
                      .label = fields.text("label").value_or("")};
  if (Result<void> ok = fields.finish(); !ok) return problem(ok.error());
  if (grant.label.size() > kMaxTokenLabel) return problem(Code::invalid, "label is too long");
  // An empty one would be a token for all.
  if (name_space) {
    if (Result<void> ok = keys::check_namespace(*name_space); !ok) return problem(ok.error());
  }
  if (life && (*life <= Duration::zero() || *life > kMaxTokenLife)) {
    return problem(Code::invalid, "expires is a duration of up to 3650d");
  }
  Result<std::string> secret = tokens::new_secret();
  if (!secret) return problem(secret.error());
  JsonObject what;
  what.text("label", grant.label).boolean("read_only", grant.read_only);
  if (name_space) what.text("for", *name_space);
  std::string also = what.finish();
  return make_and_keep(&call.service.tokens(), std::move(*secret), std::move(grant), life,
                       audit_of(call, "token.new", also.substr(1, also.size() - 2)));
}

Answer list_tokens(Call&) { return list_all(); }

Answer revoke_token(Call& call) {
  return revoke(&call.service.tokens(), call.name, audit_of(call, "token.revoke"));
}

}  // namespace once::api

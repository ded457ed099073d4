#include "api/stored_items.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/tokens.h"
#include "base/names.h"
#include "primitives/claim_record.h"
#include "primitives/document_change.h"
#include "primitives/document_record.h"
#include "primitives/keys.h"
#include "primitives/log_record.h"
#include "primitives/prepared_effects.h"
#include "primitives/tally_record.h"

namespace once::api {
namespace {

using Checked = Result<void>;

constexpr std::string_view kStrategies = "ctr";  // Of logs.
constexpr std::size_t kTokenDigits = 64;

template <class T>
Checked only_error(const Result<T>& decoded) {
  return decoded ? Checked() : std::unexpected(decoded.error());
}

std::unexpected<Error> unknown_key() {
  return failure(ErrorCode::invalid, "is no key that once writes");
}

Checked check_integer(const Value& value) {
  if (std::holds_alternative<std::int64_t>(value)) return {};
  return failure(ErrorCode::corrupt, "it is not a number");
}

Checked check_document(const Item& item) {
  const Result<documents::DocumentRecord> record = documents::decode_document(item, Time::min());
  if (!record || !record->exists) return only_error(record);
  return documents::check_content(record->content);
}

Checked check_document_item(std::string_view part, const Item& item) {
  if (part.empty()) return check_document(item);
  if (part.starts_with("i/")) return only_error(documents::decode_marker(item));
  return unknown_key();
}

// `part` begins with the letter of the log's strategy.
Checked check_log_item(std::string_view part, std::int64_t sort, const Item& item) {
  if (part.empty() || !kStrategies.contains(part[0])) return unknown_key();
  part.remove_prefix(1);
  part.remove_prefix(std::min(part.find_first_not_of("0123456789"), part.size()));  // The life.
  if (part.empty()) return only_error(logs::decode_log(item.value));
  if (part == "/m") return check_integer(item.value);
  if (sort != 0) return unknown_key();
  if (part == "/h" || part == "/l") return check_integer(item.value);
  if (part.starts_with("/b/")) return only_error(logs::decode_batch_id(item.value));
  return unknown_key();
}

// "i/" and the id; behind the i the life of the tally, unless it is the first.
bool is_tally_id(std::string_view part) {
  if (!part.starts_with('i')) return false;
  part.remove_prefix(1);
  const std::size_t slash = part.find_first_not_of("0123456789");
  return slash != std::string_view::npos && part[slash] == '/' && !part.starts_with('0');
}

// Nothing in the tally's first life, and "b" and the life from then on.
bool is_tally_bucket(std::string_view part) {
  if (part.empty()) return true;
  if (!part.starts_with('b') || part.size() == 1 || part[1] == '0') return false;
  return part.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

Checked check_tally_item(std::string_view part, std::int64_t sort, const Item& item) {
  if (is_tally_bucket(part)) return only_error(tallies::decode_any_bucket(item.value));
  if (sort != 0) return unknown_key();
  if (part == "m") return only_error(tallies::decode_meta(item.value));
  if (is_tally_id(part)) return only_error(tallies::decode_marker(item.value));
  return unknown_key();
}

Checked check_token(std::string_view id, const Value& value) {
  const bool hex = id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  const bool known = (hex && id.size() == kTokenDigits) || id == tokens::kClosed;
  if (!known) return unknown_key();
  const Result<tokens::Grant> grant = tokens::decode_grant(value);
  if (!grant || grant->name_space.empty()) return only_error(grant);
  return keys::check_namespace(grant->name_space);
}

Checked check_by_kind(std::string_view home, std::string_view part, std::int64_t sort,
                      const Item& item) {
  const std::string_view kind = home.substr(0, home.find('/'));
  if (kind == "log") return check_log_item(part, sort, item);
  if (kind == "tally") return check_tally_item(part, sort, item);
  if (sort != 0) return unknown_key();
  if (kind == "doc") return check_document_item(part, item);
  if (!part.empty()) return unknown_key();
  if (kind == "claim") return only_error(claims::decode_claim(item));
  if (kind == "seen") return only_error(claims::decode_mark(item));
  if (kind == "commit") return only_error(effects::decode_receipt(item.value));
  return unknown_key();
}

}  // namespace

bool is_token(const wire::Listed& listed) {
  return listed.key.partition.home.starts_with(keys::kTokens);
}

bool is_closed_mark(std::string_view home) {
  return home.starts_with(keys::kTokens) && home.substr(keys::kTokens.size()) == tokens::kClosed;
}

wire::Listed in_today_form(wire::Listed checked) {
  if (!checked.key.partition.home.starts_with(keys::kClaims)) return checked;
  const Result<claims::ClaimRecord> record = claims::decode_claim(checked.item);
  if (!record || !claims::is_old_mark(*record)) return checked;
  checked.key = keys::seen_of_claim(checked.key);
  checked.item.value = claims::encode_mark(*record);
  checked.item.expiry = claims::expiry_of_mark(*record);
  return checked;
}

Result<void> check_stored(const wire::Listed& listed) {
  const auto& [home, part] = listed.key.partition;
  Checked ok;
  if (!keys::is_home(home)) {
    ok = unknown_key();
  } else if (is_token(listed)) {
    const bool alone = part.empty() && listed.key.sort == 0;
    ok = alone ? check_token(std::string_view(home).substr(keys::kTokens.size()), listed.item.value)
               : unknown_key();
  } else {
    ok = keys::check_name(keys::name_in(home));
    if (ok) ok = check_by_kind(home, part, listed.key.sort, listed.item);
  }
  if (ok || ok.error().code == ErrorCode::unsupported) return ok;
  return failure(ErrorCode::invalid, std::move(ok.error().message));
}

}  // namespace once::api

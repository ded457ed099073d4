// All keys that Once stores. A home is "kind/namespace/name". A namespace has no slash, so
// everything after the second one is the name. docs/formats.md lists the item of each key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "once/key.h"

namespace once::keys {

// A claim. One item. Earlier versions kept the mark of a seen id there, too.
Key claim(std::string_view name_space, std::string_view name);
std::string claim_prefix(std::string_view name_space);
inline constexpr std::string_view kClaims = "claim/";

// The mark of a seen id, and where earlier versions kept it: at the claim of that name.
Key seen(std::string_view name_space, std::string_view id);
Key seen_of_claim(const Key& claim);
Key claim_of_seen(const Key& seen);

// A log stream. `strategy` is the first letter of every part, so that strategies never mix
// (docs/hazards.md#h4).
std::string log_home(std::string_view name_space, std::string_view stream);
std::string log_part(char strategy, std::int64_t life);     // What each part begins with.
Partition log_batches(std::string home, std::string part);  // By first index.
Key log_mark(std::string home, std::string part, std::int64_t which);  // Integers that only rise.
Key log_head(std::string home, std::string part);                      // The end of the stream.
Key log_batch_id(std::string home, std::string part, std::string_view id);
Key log_life(std::string home, char strategy);  // How many logs of that name were removed.

// A document, and the marker of a change made to it under an id.
Key document(std::string_view name_space, std::string_view name);
std::string document_prefix(std::string_view name_space);
Key document_change(const Key& document, std::string_view id);

// A tally: its buckets by start, its meta item, and the marker of an id. Buckets and ids are those
// of one life, so that nothing of a removed tally is met in the next one.
Key tally(std::string_view name_space, std::string_view name);
Key tally_bucket(const Key& tally, std::uint64_t life, std::int64_t start = 0);
std::string tally_prefix(std::string_view name_space);
Key tally_meta(const Key& tally);
Key tally_id(const Key& tally, std::uint64_t life, std::string_view id);

// The id of a commit of effects.
Key commit_id(std::string_view name_space, std::string_view id);

// A token of the store, by the hash of its secret. Outside all namespaces.
inline constexpr std::string_view kTokens = "token/";
Key token(std::string_view id);

// What tells a store that is a server from another at the same address. Outside all namespaces, and
// no part of an export.
Key birth_mark();

// The secret that tickets are sealed with. Outside all namespaces, and no part of an export.
Key store_secret();

// Whether the item is the store's own, so that it is neither exported nor imported: the two above,
// and what the audit log is made of (api/audit.h).
bool is_of_store(const Key& key);

// Every home of the namespace begins with one of these, and no other home does.
std::vector<std::string> prefixes(std::string_view name_space);

// Whether this is a home in some namespace, or of a token.
bool is_home(std::string_view home);

// The namespace and the name in a home of one of the kinds above.
std::string_view name_space_in(std::string_view home);
std::string_view name_in(std::string_view home);

}  // namespace once::keys

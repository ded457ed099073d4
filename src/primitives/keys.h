// All keys that Once stores. A home is "kind/namespace/name". A namespace has no slash, so
// everything after the second one is the name. docs/formats.md lists the item of each key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "once/key.h"

namespace once::keys {

// A claim, or the mark of a seen id. One item.
Key claim(std::string_view name_space, std::string_view name);
std::string claim_prefix(std::string_view name_space);

// A log stream. `strategy` is the first letter of every part, so that strategies never mix
// (docs/hazards.md#h4).
std::string log_home(std::string_view name_space, std::string_view stream);
Partition log_batches(std::string home, char strategy);             // By first index.
Key log_mark(std::string home, char strategy, std::int64_t which);  // Integers that only rise.
Key log_head(std::string home, char strategy);                      // The end of the stream.
Key log_batch_id(std::string home, char strategy, std::string_view id);

// A document, and the marker of a change made to it under an id.
Key document(std::string_view name_space, std::string_view name);
Key document_change(const Key& document, std::string_view id);

// A tally: its buckets by start, its meta item, and the marker of an id.
Key tally(std::string_view name_space, std::string_view name);
Key tally_meta(const Key& tally);
Key tally_id(const Key& tally, std::string_view id);

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

// Whether the item is the store's own, so that it is neither exported nor imported.
bool is_of_store(const Key& key);

// Every home of the namespace begins with one of these, and no other home does.
std::vector<std::string> prefixes(std::string_view name_space);

// Whether this is a home in some namespace, or of a token.
bool is_home(std::string_view home);

// The name in a home of one of the kinds above.
std::string_view name_in(std::string_view home);

}  // namespace once::keys

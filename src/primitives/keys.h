// Every key that Once persists, in one place. A home is "kind/namespace/name": a namespace has no
// slash, so the rest is the name whatever it contains. docs/formats.md lists what each one holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/key.h"

namespace once::keys {

// 1 to 512 bytes of UTF-8 without control characters.
Result<void> check_name(std::string_view name);

// 1 to 64 of a-z, A-Z, 0-9, '-', '_' and '.'.
Result<void> check_namespace(std::string_view name_space);

// A claim, and an id that was seen. One item.
Key claim(std::string_view name_space, std::string_view name);
std::string claim_prefix(std::string_view name_space);

// A log stream. `strategy` is the first letter of every part, so that strategies never mix (H4).
std::string log_home(std::string_view name_space, std::string_view stream);
Partition log_batches(std::string home, char strategy);             // By first index.
Key log_mark(std::string home, char strategy, std::int64_t which);  // Integers that only rise.
Key log_head(std::string home, char strategy);                      // Where the stream ends.
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

// A token of the store, by the hash of its secret. In no namespace.
inline constexpr std::string_view kTokens = "token/";
Key token(std::string_view id);

// What the homes of a namespace begin with: each of them with one of these, and no others.
std::vector<std::string> prefixes(std::string_view name_space);

// Whether it is the home of something of a namespace, or of a token.
bool is_home(std::string_view home);

// What was named, from the home of one of the above.
std::string_view name_in(std::string_view home);

}  // namespace once::keys

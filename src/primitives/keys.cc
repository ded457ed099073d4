#include "primitives/keys.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace once::keys {
namespace {

// Kinds that are inside a namespace.
constexpr std::array<std::string_view, 6> kKinds = {"claim", "commit", "doc",
                                                    "log",   "seen",   "tally"};
constexpr std::string_view kSeen = "seen/";

std::string home_of(std::string_view kind, std::string_view name_space, std::string_view name) {
  std::string home;
  home.reserve(kind.size() + name_space.size() + name.size() + 2);
  home += kind;
  home += '/';
  home += name_space;
  home += '/';
  home += name;
  return home;
}

}  // namespace

Key claim(std::string_view name_space, std::string_view name) {
  return {{home_of("claim", name_space, name), ""}, 0};
}

std::string claim_prefix(std::string_view name_space) { return home_of("claim", name_space, ""); }

Key seen(std::string_view name_space, std::string_view id) {
  return {{home_of("seen", name_space, id), ""}, 0};
}

Key seen_of_claim(const Key& claim) {
  std::string home(kSeen);
  home += std::string_view(claim.partition.home).substr(kClaims.size());
  return {{std::move(home), ""}, 0};
}

Key claim_of_seen(const Key& seen) {
  std::string home(kClaims);
  home += std::string_view(seen.partition.home).substr(kSeen.size());
  return {{std::move(home), ""}, 0};
}

std::string log_home(std::string_view name_space, std::string_view stream) {
  return home_of("log", name_space, stream);
}

std::string log_part(char strategy, std::int64_t life) {
  std::string part(1, strategy);
  if (life > 0) part += std::to_string(life);
  return part;
}

Partition log_batches(std::string home, std::string part) {
  return {std::move(home), std::move(part)};
}

Key log_mark(std::string home, std::string part, std::int64_t which) {
  return {{std::move(home), std::move(part.append("/m"))}, which};
}

Key log_head(std::string home, std::string part) {
  return {{std::move(home), std::move(part.append("/h"))}, 0};
}

Key log_batch_id(std::string home, std::string part, std::string_view id) {
  return {{std::move(home), std::move(part.append("/b/").append(id))}, 0};
}

Key log_life(std::string home, char strategy) {
  return {{std::move(home), std::string(1, strategy) + "/l"}, 0};
}

Key document(std::string_view name_space, std::string_view name) {
  return {{home_of("doc", name_space, name), ""}, 0};
}

std::string document_prefix(std::string_view name_space) { return home_of("doc", name_space, ""); }

Key document_change(const Key& document, std::string_view id) {
  return {{document.partition.home, std::string("i/").append(id)}, 0};
}

Key tally(std::string_view name_space, std::string_view name) {
  return {{home_of("tally", name_space, name), ""}, 0};
}

std::string tally_prefix(std::string_view name_space) { return home_of("tally", name_space, ""); }

Key tally_bucket(const Key& tally, std::uint64_t life, std::int64_t start) {
  return {{tally.partition.home, life == 0 ? "" : "b" + std::to_string(life)}, start};
}

Key tally_meta(const Key& tally) { return {{tally.partition.home, "m"}, 0}; }

Key tally_id(const Key& tally, std::uint64_t life, std::string_view id) {
  std::string part = life == 0 ? "i/" : "i" + std::to_string(life) + "/";
  return {{tally.partition.home, part.append(id)}, 0};
}

Key commit_id(std::string_view name_space, std::string_view id) {
  return {{home_of("commit", name_space, id), ""}, 0};
}

Key token(std::string_view id) { return {{std::string(kTokens).append(id), ""}, 0}; }

Key birth_mark() { return {{"store/birth", ""}, 0}; }

Key store_secret() { return {{"store/secret", ""}, 0}; }

bool is_of_store(const Key& key) {
  const std::string& home = key.partition.home;
  return home.starts_with("store/") || home == "log/once/audit";
}

std::vector<std::string> prefixes(std::string_view name_space) {
  std::vector<std::string> prefixes;
  for (const std::string_view kind : kKinds) prefixes.push_back(home_of(kind, name_space, ""));
  return prefixes;
}

bool is_home(std::string_view home) {
  if (home.starts_with(kTokens)) return home.size() > kTokens.size();
  const std::size_t kind = home.find('/');
  if (kind == std::string_view::npos ||
      std::ranges::find(kKinds, home.substr(0, kind)) == kKinds.end())
    return false;
  const std::size_t end = home.find('/', kind + 1);
  return end != std::string_view::npos && end + 1 < home.size() &&
         check_namespace(home.substr(kind + 1, end - kind - 1)).has_value();
}

std::string_view name_space_in(std::string_view home) {
  home.remove_prefix(home.find('/') + 1);
  return home.substr(0, home.find('/'));
}

std::string_view name_in(std::string_view home) {
  home.remove_prefix(home.find('/') + 1);
  home.remove_prefix(home.find('/') + 1);
  return home;
}

}  // namespace once::keys

// Tokens of callers. The store holds only hashes, which are no use as tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "once/plan.h"

namespace once::tokens {

// What a token allows.
struct Grant {
  std::string name_space;  // The only one allowed; empty for all.
  bool read_only = false;
  std::string label;  // For people.
  Time created;

  friend bool operator==(const Grant&, const Grant&) = default;
};

struct Token {
  std::string id;  // The hash of the secret: 64 hex digits. Not a secret itself.
  Grant grant;
};

// A new secret: printable ASCII with 256 random bits. `unavailable` if the operating system gives
// none.
Result<std::string> new_secret();
std::string id_of(std::string_view secret);

Bytes encode(const Grant& grant);
Result<Grant> decode_grant(const Value& value);

// Stores the token whose secret has this id.
Plan<std::monostate> keep(std::string id, Grant grant);

// False if there is no such token.
Plan<bool> revoke(std::string id);

// All of them, at most 10,000.
Plan<std::vector<Token>> list();

// A recent copy of the tokens, held by a server. Safe to share between threads.
class Table {
 public:
  void replace(std::vector<Token> tokens);
  void add(const Token& token);
  void remove(const std::string& id);

  bool empty() const;

  // Takes as long for a wrong secret as for a right one.
  std::optional<Grant> find(std::string_view secret) const;

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, Grant> grants_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::tokens

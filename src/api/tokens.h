// Tokens of callers. The store holds only hashes, which are no use as tokens.
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "once/plan.h"
#include "primitives/recorded.h"

namespace once::tokens {

// What a token allows.
struct Grant {
  std::string name_space;  // The only one allowed; empty for all.
  bool read_only = false;
  std::string label;  // For people.
  Time created;
  Time expires = kNever;  // The expiry of its item; no part of its record.

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

// Stores the token whose secret has this id, and closes the store. `unknown`: the token may be
// stored.
Plan<std::monostate> keep(std::string id, Grant grant, Recording recording = {});

// False if there is no such token. The store stays closed.
Plan<bool> revoke(std::string id, Recording recording = {});

// The id of the mark of a closed store. It is a token's record, so that every version of Once
// reads it, and no secret has this id: those are hashes.
inline constexpr std::string_view kClosed = "closed";

// A store that ever had a token is closed: without one, nobody is let in. This stores the mark that
// says so, if it is missing.
Plan<std::monostate> mark_closed();

// What a store has of tokens.
struct Listing {
  std::vector<Token> tokens;
  std::vector<std::string> damaged;  // Ids of records that cannot be read, which let nobody in.
  bool has_mark = false;

  bool is_closed() const { return has_mark || !tokens.empty() || !damaged.empty(); }
};

// At most 10,000 tokens.
Plan<Listing> list();

// A recent copy of the tokens, held by a server. Safe to share between threads.
class Table {
 public:
  // A listing that is older than `trust` is not believed any more. `clock` must outlive it.
  explicit Table(Clock& clock = system_clock(), Duration trust = std::chrono::minutes(1))
      : clock_(clock), trust_(trust) {}

  // `asked` is when the listing was asked for.
  void replace(Listing listing, Time asked);
  void add(const Token& token);
  void remove(const std::string& id);
  void distrust();  // The tokens cannot be read: nobody is let in until the next replace().

  void set_trust(Duration trust) { trust_ = trust; }

  bool empty() const;

  // There was a token at some time. Once closed, it is never open again.
  bool is_closed() const;

  // Whether what it says still counts. Before the first replace() it does.
  bool is_trusted() const;
  std::optional<Duration> age() const;  // Since it was asked for; nothing before the first.

  // Of the tokens that are for one, each once.
  std::set<std::string> namespaces() const;

  // Takes as long for a wrong secret as for a right one. Nothing for one that has expired.
  std::optional<Grant> find(std::string_view secret) const;

 private:
  Clock& clock_;
  std::atomic<Duration> trust_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Grant> grants_ ONCE_GUARDED_BY(mutex_);
  bool closed_ ONCE_GUARDED_BY(mutex_) = false;
  bool distrusted_ ONCE_GUARDED_BY(mutex_) = false;
  std::optional<Time> asked_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::tokens

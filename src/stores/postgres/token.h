// Commits as tokens for apply() (apply_sql.cc).
//
// A token is text of letters, digits, `-`, `_`, `.` and `~`: rows that are separated by ~, of
// fields that are separated by a dot. Bytes are base64url.
//
//   o1.PLACE.UNTIL                                the database and schema; milliseconds since 1970
//   PART.HOME.PART.SORT.KIND.GUARD.SINCE.NUMBER.BYTES.VERSION.EXPIRY       a row for each write
//   MAC                                           HMAC-SHA256 of all before its ~, 43 characters
//
// PART is the name of the request's part, such as `docs[0]`. The rest is as the parameters of
// commit_apart() (schema_sql.cc): NUMBER is empty where the value is bytes, or there is none.
#pragma once

#include <span>
#include <string>

#include "once/store.h"

namespace once::postgres {

class TokenSealer final : public Sealer {
 public:
  // What token_secret() answers.
  TokenSealer(Bytes secret, std::string place)
      : secret_(std::move(secret)), place_(std::move(place)) {}

  std::string seal(Transaction writes, std::span<const std::string> parts,
                   Time until) const override;

 private:
  const Bytes secret_;
  const std::string place_;
};

}  // namespace once::postgres

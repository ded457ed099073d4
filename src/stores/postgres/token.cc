#include "stores/postgres/token.h"

#include "base/digest.h"
#include "base/encoding.h"

namespace once::postgres {
namespace {

// The numbers that commit_apart() takes.
static_assert(static_cast<int>(Write::Kind::put) == 0);
static_assert(static_cast<int>(Write::Kind::check) == 4);
static_assert(static_cast<int>(Guard::Kind::anything) == 0);
static_assert(static_cast<int>(Guard::Kind::permanent) == 3);

template <class Number>
std::string digits(Number number) {
  return std::to_string(static_cast<std::int64_t>(number));
}

std::string row_of(const Write& write, const std::string& part) {
  const bool is_written = write.kind != Write::Kind::erase && write.kind != Write::Kind::check;
  const auto* const number = is_written ? std::get_if<std::int64_t>(&write.value) : nullptr;
  const auto* const bytes = is_written ? std::get_if<Bytes>(&write.value) : nullptr;
  std::string row = "~" + base64url_encode(part);
  const auto field = [&row](std::string_view text) { row.append(".").append(text); };
  field(base64url_encode(write.key.partition.home));
  field(base64url_encode(write.key.partition.part));
  field(digits(write.key.sort));
  field(digits(write.kind));
  field(digits(write.guard.kind));
  field(digits(write.guard.version.number));
  field(number != nullptr ? digits(*number) : "");
  field(bytes != nullptr ? base64url_encode(*bytes) : "");
  field(digits(write.version.number));
  field(digits(write.expiry.time_since_epoch().count()));
  return row;
}

}  // namespace

std::string TokenSealer::seal(Transaction writes, std::span<const std::string> parts,
                              Time until) const {
  std::string token = "o1." + place_ + "." + digits(until.time_since_epoch().count());
  for (std::size_t i = 0; i < writes.size(); ++i) token += row_of(writes[i], parts[i]);
  const std::string mac = base64url_encode(hmac_sha256(secret_, token));
  return token + "~" + mac;
}

}  // namespace once::postgres

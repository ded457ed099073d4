// Claim records, marks and tickets.
#include <algorithm>
#include <cstring>

#include "base/encoding.h"
#include "fuzz/record_laws.h"
#include "primitives/claim_record.h"

namespace once::fuzz {
namespace {

using claims::ClaimRecord;

constexpr Time kNow{Duration(1'700'000'000'000)};

Bytes encode(const ClaimRecord& record) { return std::get<Bytes>(claims::encode(record)); }

Result<ClaimRecord> decode(const Bytes& bytes) {
  return claims::decode_claim({bytes, {1}, kNever});
}

void check_mark(std::string_view input) {
  std::int64_t words[2] = {};
  std::memcpy(words, input.data(), std::min(input.size(), sizeof words));
  const Item item{words[0], {1}, Time(Duration(words[1]))};
  const auto record = claims::decode_mark(item);
  if (!record) return require(record.error().code == ErrorCode::corrupt);
  require(claims::encode_mark(*record) == item.value);
  require(claims::expiry_of_mark(*record) == item.expiry);
}

// With any times inside, an outcome does not expire early.
void check_expiry(const ClaimRecord& record) {
  const Time expiry = claims::expiry_of(record, kNow);
  const bool finished =
      record.state == ClaimRecord::State::done || record.state == ClaimRecord::State::failed;
  require(!finished || expiry >= record.kept_until);
}

// A ticket comes from outside: a malformed one is `invalid`, not `corrupt`.
void check_ticket(const std::string& text) {
  const StoreSecret secret{.key = {1, 2}, .created = kNow};
  const Key key = claims::claim_key("default", "job");
  const auto open = claims::unseal({text}, key, secret);
  if (open) {
    const Ticket sealed = claims::seal(*open, key, secret);
    require((sealed.text == text) == open->vouched);
    require(claims::unseal(sealed, key, secret)->record == open->record);
  } else {
    require(open.error().code == ErrorCode::invalid);
  }
}

void check_armor(const std::string& input) {
  if (const auto bytes = base64url_decode(input)) require(base64url_encode(*bytes) == input);
  require(base64url_decode(base64url_encode(input)) == input);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const std::string input(reinterpret_cast<const char*>(data), size);
  check_decoding_of(RecordKind::claim, input, decode, encode);
  const auto record = decode(checksummed(RecordKind::claim, input));
  if (record) check_expiry(*record);
  check_mark(input);
  check_ticket(input);
  check_ticket(base64url_encode(checksummed(RecordKind::ticket, input)));
  check_armor(input);
  return 0;
}

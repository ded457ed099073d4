// Claim records, marks and tickets.
#include <algorithm>
#include <cstring>

#include "fuzz/record_laws.h"
#include "primitives/claim_record.h"
#include "primitives/text_armor.h"

namespace once::fuzz {
namespace {

using claims::ClaimRecord;

constexpr Time kNow{Duration(1'700'000'000'000)};

Bytes encode(const ClaimRecord& record) { return std::get<Bytes>(claims::encode(record)); }

// A record that says no more than a mark is read, and written as a mark from then on; it is left
// out because its bytes are not what it is written as.
Result<ClaimRecord> decode(const Bytes& bytes) {
  Result<ClaimRecord> record = claims::decode_claim({bytes, {1}, kNever});
  if (record && !std::holds_alternative<Bytes>(claims::encode(*record))) {
    return failure(ErrorCode::corrupt, "a mark");
  }
  return record;
}

void check_mark(std::string_view input) {
  std::int64_t words[2] = {};
  std::memcpy(words, input.data(), std::min(input.size(), sizeof words));
  const Item item{words[0], {1}, Time(Duration(words[1]))};
  const auto record = claims::decode_claim(item);
  if (!record) return require(record.error().code == ErrorCode::corrupt);
  require(claims::encode(*record) == item.value);
  require(claims::expiry_of(*record, {}) == item.expiry);
}

// Whatever times are inside, an outcome is not forgotten before its time.
void check_expiry(const ClaimRecord& record) {
  const Time expiry = claims::expiry_of(record, kNow);
  const bool finished =
      record.state == ClaimRecord::State::done || record.state == ClaimRecord::State::failed;
  require(!finished || expiry >= record.kept_until);
}

// A ticket comes from outside: what is none is the caller's fault.
void check_ticket(const std::string& text) {
  const auto open = claims::unseal({text});
  if (open) {
    require(claims::seal(*open).text == text);
  } else {
    require(open.error().code == ErrorCode::invalid);
  }
}

void check_armor(const std::string& input) {
  if (const auto bytes = unarmored(input)) require(armored(*bytes) == input);
  require(unarmored(armored(input)) == input);
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
  check_ticket(armored(checksummed(RecordKind::ticket, input)));
  check_armor(input);
  return 0;
}

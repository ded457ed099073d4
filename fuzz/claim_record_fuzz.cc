// Claim records and tickets meet any bytes; what is accepted survives being written again.
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "primitives/claim_record.h"
#include "primitives/text_armor.h"

namespace {

void require(bool held) {
  if (!held) std::abort();
}

// Random bytes seldom have the right checksum, so they get it here.
std::string checksummed(char kind, std::string_view fields) {
  std::string record = {kind, 1};
  record += fields;
  const std::uint64_t sum = XXH3_64bits(record.data(), record.size());
  for (int shift = 24; shift >= 0; shift -= 8) record += static_cast<char>(sum >> shift);
  return record;
}

void round_trip(const once::Item& item) {
  const auto record = once::claims::decode_claim(item);
  if (!record) return;
  once::Item written{once::claims::encode(*record), {1}, once::kNever};
  const bool mark = std::holds_alternative<std::int64_t>(written.value);
  if (mark) written.expiry = once::claims::expiry_of(*record, {});
  const auto again = once::claims::decode_claim(written);
  require(again && *again == *record);
}

void round_trip_number(std::string_view input) {
  std::int64_t words[2] = {};
  std::memcpy(words, input.data(), std::min(input.size(), sizeof words));
  round_trip({words[0], {1}, once::Time(once::Duration(words[1]))});
}

void round_trip_ticket(const std::string& text) {
  const auto open = once::claims::unseal({text});
  if (!open) {
    require(open.error().code == once::ErrorCode::invalid);
    return;
  }
  const auto again = once::claims::unseal(once::claims::seal(*open));
  require(again && again->record == open->record && again->version == open->version);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  round_trip({input, {1}, once::kNever});
  round_trip({checksummed('c', input), {1}, once::kNever});
  round_trip_number(input);
  round_trip_ticket(input);
  round_trip_ticket(once::armored(checksummed('t', input)));
  if (const auto bytes = once::unarmored(input)) require(once::armored(*bytes) == input);
  return 0;
}

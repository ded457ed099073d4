// The laws of every kind of record, for arbitrary bytes. A broken law ends the program, which is
// how a fuzz target reports it.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>
#include <xxhash.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "primitives/record.h"

namespace once::fuzz {

inline void require(bool held) {
  if (!held) std::abort();
}

inline constexpr std::size_t kRecordHead = 2;
inline constexpr std::size_t kRecordChecksum = 4;

inline Bytes checksum_of(std::string_view content) {
  const std::uint64_t sum = XXH3_64bits(content.data(), content.size());
  Bytes bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(sum >> shift);
  return bytes;
}

// Gives random bytes the right head and checksum.
inline Bytes checksummed(RecordKind kind, std::string_view fields) {
  Bytes record = {static_cast<char>(kind), 1};
  record += fields;
  return record + checksum_of(record);
}

inline bool checksum_holds(std::string_view record) {
  if (record.size() < kRecordHead + kRecordChecksum) return false;
  const std::size_t end = record.size() - kRecordChecksum;
  return record.substr(end) == checksum_of(record.substr(0, end));
}

// A refused record is `corrupt`, unless a newer version may have written it.
inline void require_refusal(std::string_view bytes, ErrorCode code) {
  const bool newer = checksum_holds(bytes) && static_cast<std::uint8_t>(bytes[1]) > 1;
  require(code == ErrorCode::corrupt || (newer && code == ErrorCode::unsupported));
}

// A changed byte or a missing end is detected anywhere, unless the damaged record happens to have
// the right checksum: once in 2^32.
template <std::invocable<const Bytes&> Decode>
void require_damage_is_seen(const Bytes& sound, const Decode& decode) {
  const std::uint64_t chance = XXH3_64bits(sound.data(), sound.size());
  const std::size_t at = chance % sound.size();
  Bytes damaged = sound;
  damaged[at] = static_cast<char>(damaged[at] ^ (1 + (chance >> 32) % 255));
  require(checksum_holds(damaged) || !decode(damaged));
  const Bytes cut = sound.substr(0, at);
  require(checksum_holds(cut) || !decode(cut));
}

// A record has one form: decoding and encoding gives the same bytes.
template <std::invocable<const Bytes&> Decode, class Encode>
void check_decoding(const Bytes& bytes, const Decode& decode, const Encode& encode) {
  const auto record = decode(bytes);
  if (!record) return require_refusal(bytes, record.error().code);
  require(encode(*record) == bytes);
  require_damage_is_seen(bytes, decode);
}

// The same for the bytes themselves and as the fields of a record.
template <std::invocable<const Bytes&> Decode, class Encode>
void check_decoding_of(RecordKind kind, const Bytes& bytes, const Decode& decode,
                       const Encode& encode) {
  check_decoding(bytes, decode, encode);
  check_decoding(checksummed(kind, bytes), decode, encode);
}

inline Time time_of(FuzzedDataProvider& input) {
  return Time(Duration(input.ConsumeIntegral<std::int64_t>()));
}

// Encoding and decoding gives the same record.
template <class Record, std::invocable<const Bytes&> Decode, class Encode>
void check_encoding(const Record& record, const Decode& decode, const Encode& encode) {
  const Bytes bytes = encode(record);
  const auto again = decode(bytes);
  require(again && *again == record);
  require_damage_is_seen(bytes, decode);
}

}  // namespace once::fuzz

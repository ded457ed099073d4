// Decoders of arbitrary bytes: accepted input encodes to the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "kernel/format.h"

namespace {

void require(bool held) {
  if (!held) std::abort();
}

void round_trip_key(std::string_view bytes) {
  const auto key = once::format::decode_key(bytes);
  if (!key) return;
  std::string again;
  once::format::encode_key(*key, again);
  require(again == bytes);
}

void round_trip_item(std::string_view key, std::string_view bytes) {
  const auto item = once::format::decode_item(key, bytes);
  if (!item) {
    require(item.error().code == once::ErrorCode::corrupt);
    return;
  }
  std::string again;
  once::format::encode_item(key, *item, again);
  require(again == bytes);
}

// A random body seldom has the right checksum, so it is also tried with one.
void encode_and_decode(std::string_view key, std::string_view bytes) {
  std::string encoded;
  once::format::encode_item(key, {.bytes = bytes, .version = {1}}, encoded);
  const auto item = once::format::decode_item(key, encoded);
  require(item.has_value() && item->bytes == bytes && !item->number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.empty() ? 0 : static_cast<unsigned char>(input[0]) % size;
  round_trip_key(input);
  round_trip_item(input.substr(0, cut), input.substr(cut));
  encode_and_decode(input.substr(0, cut), input.substr(cut));
  if (const auto number = once::format::decode_format_number(input)) {
    require(once::format::encode_format_number(*number) == input);
  }
  return 0;
}

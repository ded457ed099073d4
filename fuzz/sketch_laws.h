// The laws of every sketch, for states of one shape or of two.
#pragma once

#include <utility>

#include "fuzz/record_laws.h"

namespace once::fuzz {

// Two inputs in one: the length of the first in two bytes, then both.
inline std::pair<Bytes, Bytes> cut_in_two(const Bytes& input) {
  if (input.size() < 2) return {input, ""};
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(input[at]); };
  const std::size_t length = (byte(0) << 8U | byte(1)) % (input.size() - 1);
  return {input.substr(2, length), input.substr(2 + length)};
}

template <class Sketch>
Result<Sketch> decode_sketch(const Bytes& bytes) {
  return Sketch::decode(bytes);
}

template <class Sketch>
Bytes encode_sketch(const Sketch& sketch) {
  return sketch.encode();
}

template <class Sketch>
void check_sketch(const Sketch& sketch) {
  check_encoding(sketch, decode_sketch<Sketch>, encode_sketch<Sketch>);
}

// The two merged, if their shapes allow it; otherwise refused, and nothing changed. The order does
// not matter, and the result can be stored.
template <class Sketch>
Result<Sketch> check_merge(const Sketch& a, const Sketch& b) {
  Sketch ab = a;
  Sketch ba = b;
  const Result<void> merged = ab.merge(b);
  require(merged.has_value() == ba.merge(a).has_value());
  if (!merged) {
    require(merged.error().code == ErrorCode::invalid && ab == a && ba == b);
    return std::unexpected(merged.error());
  }
  require(ab == ba);
  check_sketch(ab);
  return ab;
}

// Merging again changes nothing.
template <class Sketch>
void check_idempotence(const Sketch& part, Sketch whole) {
  const Sketch before = whole;
  require(whole.merge(part) && whole == before);
  require(whole.merge(before) && whole == before);
}

// The sketch in `fields`, after checking all promises of the decoder.
template <class Sketch>
Result<Sketch> sketch_in(RecordKind kind, const Bytes& fields) {
  check_decoding_of(kind, fields, decode_sketch<Sketch>, encode_sketch<Sketch>);
  return Sketch::decode(checksummed(kind, fields));
}

}  // namespace once::fuzz

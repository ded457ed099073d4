#include "primitives/sketches/bloom.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "primitives/record.h"

namespace once::sketches {
namespace {

constexpr std::uint8_t kBloomFormat = 1;
constexpr double kLeastRate = 1e-9;
constexpr double kMostRate = 0.5;
constexpr std::size_t kWordBytes = 8;

// The bits of an item, one after the other.
class Probes {
 public:
  Probes(std::string_view item, std::size_t bits) : bits_(bits) {
    const XXH128_hash_t hash = XXH3_128bits(item.data(), item.size());
    at_ = hash.low64 % bits;
    step_ = hash.high64 % bits;
  }

  std::size_t next() {
    const std::size_t found = at_;
    at_ = (at_ + step_) % bits_;
    step_ = (step_ + ++taken_) % bits_;
    return found;
  }

 private:
  std::size_t bits_;
  std::size_t at_;
  std::size_t step_;
  std::size_t taken_ = 0;
};

std::uint8_t mask_of(std::size_t bit) { return static_cast<std::uint8_t>(1U << bit % 8); }

}  // namespace

Result<Bloom> Bloom::make(BloomShape shape) {
  const bool sound = shape.rate >= kLeastRate && shape.rate <= kMostRate && shape.capacity >= 1;
  if (!sound) {
    return failure(ErrorCode::invalid, "bloom: capacity from 1, rate from 1e-9 to 0.5");
  }
  const auto capacity = static_cast<double>(shape.capacity);
  const double bits =
      std::ceil(-capacity * std::log(shape.rate) / (std::numbers::ln2 * std::numbers::ln2));
  if (bits > 8.0 * kMaxBloomBytes) {
    return failure(ErrorCode::invalid, "bloom: the filter would be larger than 16 MiB");
  }
  const std::size_t words = (static_cast<std::size_t>(bits) + 63) / 64;
  const std::size_t bytes = words * kWordBytes;
  const double probes = std::round(static_cast<double>(bytes) * 8 / capacity * std::numbers::ln2);
  return Bloom(shape, bytes, static_cast<unsigned>(std::clamp(probes, 1.0, 32.0)));
}

void Bloom::add(std::string_view item) {
  Probes probes(item, bits_.size() * 8);
  for (unsigned i = 0; i < probes_; ++i) {
    const std::size_t bit = probes.next();
    bits_[bit / 8] |= mask_of(bit);
  }
}

bool Bloom::may_contain(std::string_view item) const {
  Probes probes(item, bits_.size() * 8);
  for (unsigned i = 0; i < probes_; ++i) {
    const std::size_t bit = probes.next();
    if ((bits_[bit / 8] & mask_of(bit)) == 0) return false;
  }
  return true;
}

Result<void> Bloom::merge(const Bloom& other) {
  if (other.shape_ != shape_) {
    return failure(ErrorCode::invalid, "bloom: filters of different capacity or rate");
  }
  for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
  return {};
}

Bytes Bloom::encode() const {
  RecordWriter out(RecordKind::bloom, kBloomFormat);
  out.number(shape_.capacity);
  out.number(std::bit_cast<std::uint64_t>(shape_.rate));
  out.bytes({reinterpret_cast<const char*>(bits_.data()), bits_.size()});
  return out.finish();
}

Result<Bloom> Bloom::decode(std::string_view record) {
  Result<RecordReader> in = RecordReader::open(record, RecordKind::bloom, kBloomFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  BloomShape shape;
  shape.capacity = in->number();
  shape.rate = std::bit_cast<double>(in->number());
  const Bytes bits = in->bytes();
  Result<Bloom> filter = make(shape);
  if (!in->sound() || !filter || bits.size() != filter->bits_.size()) {
    return failure(ErrorCode::corrupt, "a bloom filter does not parse");
  }
  std::ranges::copy(bits, filter->bits_.begin());
  return filter;
}

}  // namespace once::sketches

#include "primitives/sketches/bloom.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <numbers>
#include <utility>

#include "primitives/record.h"

namespace once::sketches {
namespace {

constexpr std::uint8_t kDenseFormat = 1;
constexpr std::uint8_t kSparseFormat = 2;
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

std::unexpected<Error> corrupt() {
  return failure(ErrorCode::corrupt, "a bloom filter does not parse");
}

std::unexpected<Error> other_shape() {
  return failure(ErrorCode::invalid, "bloom: filters of different capacity or rate");
}

BloomShape read_shape(RecordReader& in) {
  BloomShape shape;
  shape.capacity = in.number();
  shape.rate = std::bit_cast<double>(in.number());
  return shape;
}

// The bits of a record in the dense form.
Result<std::string_view> read_bits(RecordReader& in, const BloomShape& shape) {
  const std::string_view bits = in.view();
  const Result<std::size_t> bytes = Bloom::bytes_of(shape);
  if (!in.sound() || !bytes || bits.size() != *bytes) return corrupt();
  return bits;
}

}  // namespace

Result<std::size_t> Bloom::bytes_of(const BloomShape& shape) {
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
  return words * kWordBytes;
}

Result<Bloom> Bloom::make(BloomShape shape) {
  const Result<std::size_t> bytes = bytes_of(shape);
  if (!bytes) return std::unexpected(bytes.error());
  const double probes = std::round(static_cast<double>(*bytes) * 8 /
                                   static_cast<double>(shape.capacity) * std::numbers::ln2);
  return Bloom(shape, *bytes, static_cast<unsigned>(std::clamp(probes, 1.0, 32.0)));
}

// Half of the dense form at most, and few enough to insert one after the other.
std::size_t Bloom::most_places() const { return std::min<std::size_t>(bytes_ / 8, 8'192); }

bool Bloom::has(std::size_t bit) const {
  if (is_dense()) return (bits_[bit / 8] & mask_of(bit)) != 0;
  return std::ranges::binary_search(places_, static_cast<std::uint32_t>(bit));
}

void Bloom::set(std::size_t bit) {
  if (!is_dense()) {
    const auto place = static_cast<std::uint32_t>(bit);
    const auto at = std::ranges::lower_bound(places_, place);
    if (at != places_.end() && *at == place) return;
    places_.insert(at, place);
    if (places_.size() > most_places()) grow_dense();
    return;
  }
  bits_[bit / 8] |= mask_of(bit);
}

void Bloom::grow_dense() {
  bits_.resize(bytes_);
  for (const std::uint32_t bit : places_) bits_[bit / 8] |= mask_of(bit);
  places_ = {};
}

void Bloom::add(std::string_view item) {
  Probes probes(item, bytes_ * 8);
  for (unsigned i = 0; i < probes_; ++i) set(probes.next());
}

bool Bloom::may_contain(std::string_view item) const {
  Probes probes(item, bytes_ * 8);
  for (unsigned i = 0; i < probes_; ++i) {
    if (!has(probes.next())) return false;
  }
  return true;
}

Result<void> Bloom::merge(const Bloom& other) {
  if (other.shape_ != shape_) return other_shape();
  if (other.is_dense()) {
    if (!is_dense()) grow_dense();
    for (std::size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
    return {};
  }
  if (is_dense()) {
    for (const std::uint32_t bit : other.places_) set(bit);
    return {};
  }
  std::vector<std::uint32_t> both;
  std::ranges::set_union(places_, other.places_, std::back_inserter(both));
  places_ = std::move(both);
  if (places_.size() > most_places()) grow_dense();
  return {};
}

Result<bool> Bloom::merge_in_place(Bytes& into, std::string_view from) {
  Result<RecordReader> in = RecordReader::open(into, RecordKind::bloom, kSparseFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  if (in->format() != kDenseFormat) return false;
  const BloomShape shape = read_shape(*in);
  const Result<std::string_view> bits = read_bits(*in, shape);
  if (!bits) return std::unexpected(bits.error());
  char* const first = into.data() + (bits->data() - into.data());

  Result<RecordReader> other = RecordReader::open(from, RecordKind::bloom, kSparseFormat);
  if (!other) return std::unexpected(std::move(other.error()));
  if (other->format() == kDenseFormat) {
    if (read_shape(*other) != shape) return other_shape();
    const Result<std::string_view> more = read_bits(*other, shape);
    if (!more) return std::unexpected(more.error());
    std::ranges::transform(*more, *bits, first, std::bit_or<>());
  } else {
    const Result<Bloom> sparse = decode(from);
    if (!sparse) return std::unexpected(sparse.error());
    if (sparse->shape_ != shape) return other_shape();
    for (const std::uint32_t bit : sparse->places_) {
      first[bit / 8] = static_cast<char>(first[bit / 8] | mask_of(bit));
    }
  }
  seal_again(into);
  return true;
}

Bytes Bloom::encode() const {
  if (is_dense()) return encode_bits(bits_);
  RecordWriter out(RecordKind::bloom, kSparseFormat);
  out.number(shape_.capacity);
  out.number(std::bit_cast<std::uint64_t>(shape_.rate));
  out.number(places_.size());
  std::uint32_t last = 0;
  for (const std::uint32_t place : places_) out.number(place - std::exchange(last, place));
  return out.finish();
}

Bytes Bloom::encode_dense() const {
  if (is_dense()) return encode_bits(bits_);
  Bloom dense = *this;
  dense.grow_dense();
  return encode_bits(dense.bits_);
}

Bytes Bloom::encode_bits(const std::vector<std::uint8_t>& bits) const {
  RecordWriter out(RecordKind::bloom, kDenseFormat);
  out.number(shape_.capacity);
  out.number(std::bit_cast<std::uint64_t>(shape_.rate));
  out.bytes({reinterpret_cast<const char*>(bits.data()), bits.size()});
  return out.finish();
}

Result<Bloom> Bloom::decode(std::string_view record) {
  Result<RecordReader> in = RecordReader::open(record, RecordKind::bloom, kSparseFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  const BloomShape shape = read_shape(*in);
  Result<Bloom> filter = make(shape);
  if (!filter) return corrupt();
  if (in->format() == kDenseFormat) {
    const Result<std::string_view> bits = read_bits(*in, shape);
    if (!bits) return std::unexpected(bits.error());
    filter->bits_.assign(bits->begin(), bits->end());
    return filter;
  }
  if (filter->is_dense()) return corrupt();  // A small one is never stored so.
  const std::uint64_t count = in->number(filter->most_places());
  filter->places_.reserve(count);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t step = in->number();
    const bool ascends = i == 0 || step > 0;
    last += step;
    if (!ascends || step >= filter->bytes_ * 8 || last >= filter->bytes_ * 8) return corrupt();
    filter->places_.push_back(static_cast<std::uint32_t>(last));
  }
  if (!in->sound()) return corrupt();
  return filter;
}

}  // namespace once::sketches

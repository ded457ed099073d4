#include "primitives/sketches/distinct.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numbers>

#include "primitives/record.h"

namespace once::sketches {
namespace {

constexpr std::uint8_t kDistinctFormat = 1;
constexpr unsigned kIndexBits = 26;  // Of a sparse cell.
constexpr unsigned kRankBits = 6;
constexpr std::uint32_t kRankMask = (1U << kRankBits) - 1;
constexpr unsigned kMostCellRank = 64 - kIndexBits + 1;

// The position of the first one bit among the upper `width` bits of `bits`, from 1.
unsigned rank_of(std::uint64_t bits, unsigned width) {
  return std::min<unsigned>(static_cast<unsigned>(std::countl_zero(bits)), width) + 1;
}

std::uint32_t index_in(std::uint32_t cell) { return cell >> kRankBits; }
std::uint8_t rank_in(std::uint32_t cell) { return static_cast<std::uint8_t>(cell & kRankMask); }

struct Register {
  std::size_t index;
  std::uint8_t rank;
};

// The rank that a sparse cell gives to its register: the index bits beyond the register's own come
// before the bits that the cell's rank counts.
Register register_of(std::uint32_t cell, unsigned precision) {
  const unsigned beyond = kIndexBits - precision;
  const std::uint32_t index = index_in(cell);
  const std::uint32_t rest = index & ((1U << beyond) - 1);
  const unsigned rank = rest == 0
                            ? beyond + rank_in(cell)
                            : rank_of(static_cast<std::uint64_t>(rest) << (64 - beyond), beyond);
  return {index >> beyond, static_cast<std::uint8_t>(rank)};
}

// Ertl's sigma and tau: the contributions of empty and of full registers.
double sigma(double x) {
  if (x == 1.0) return std::numeric_limits<double>::infinity();
  double sum = x;
  double weight = 1;
  for (double before = -1; sum != before; weight += weight) {
    x *= x;
    before = sum;
    sum += x * weight;
  }
  return sum;
}

double tau(double x) {
  if (x == 0.0 || x == 1.0) return 0;
  double weight = 1;
  double sum = 1 - x;
  for (double before = -1; sum != before;) {
    x = std::sqrt(x);
    before = sum;
    weight *= 0.5;
    sum -= (1 - x) * (1 - x) * weight;
  }
  return sum / 3;
}

// Between eight registers as eight bytes and the six bytes that are stored: by halves, quarters,
// eighths.
static_assert(std::endian::native == std::endian::little);
constexpr std::size_t kPackedBytes = 6;

std::uint64_t spread(std::uint64_t eight) {
  eight = (eight & 0xffffff) | (eight & 0xffffff000000) << 8;
  eight = (eight & 0xfff00000fff) | (eight & 0xfff00000fff000) << 4;
  return (eight & 0x3f003f003f003f) | (eight & 0xfc00fc00fc00fc0) << 2;
}

std::uint64_t gathered(std::uint64_t eight) {
  eight = (eight & 0x3f003f003f003f) | (eight >> 2 & 0xfc00fc00fc00fc0);
  eight = (eight & 0xfff00000fff) | (eight >> 4 & 0xfff00000fff000);
  return (eight & 0xffffff) | (eight >> 8 & 0xffffff000000);
}

// In two parts: a word assembled from six bytes in memory would have to wait for them.
std::uint64_t load_packed(const char* from) {
  std::uint32_t low = 0;
  std::uint16_t high = 0;
  std::memcpy(&low, from, sizeof low);
  std::memcpy(&high, from + sizeof low, sizeof high);
  return low | std::uint64_t{high} << 32;
}

void store_packed(char* to, std::uint64_t eight) {
  const auto low = static_cast<std::uint32_t>(eight);
  const auto high = static_cast<std::uint16_t>(eight >> 32);
  std::memcpy(to, &low, sizeof low);
  std::memcpy(to + sizeof low, &high, sizeof high);
}

Bytes packed(const std::vector<std::uint8_t>& registers) {
  Bytes out(registers.size() * kRankBits / 8, '\0');
  char* to = out.data();
  for (std::size_t i = 0; i < registers.size(); i += 8, to += kPackedBytes) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, &registers[i], sizeof eight);
    store_packed(to, gathered(eight));
  }
  return out;
}

// Empty unless these are 2^precision registers, none above what a hash can give, not all zero.
std::vector<std::uint8_t> unpacked(std::string_view bytes, unsigned precision) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  const std::size_t count = std::size_t{1} << precision;
  if (bytes.size() != count * kRankBits / 8) return {};
  const unsigned most = 64 - precision + 1;
  std::vector<std::uint8_t> registers(count);
  const char* from = bytes.data();
  std::uint64_t any = 0;
  std::uint64_t beyond = 0;  // The top bit of a byte is set where some register is above `most`.
  for (std::size_t i = 0; i < count; i += 8, from += kPackedBytes) {
    const std::uint64_t eight = spread(load_packed(from));
    any |= eight;
    beyond |= eight + kEach * (0x7f - most);
    std::memcpy(&registers[i], &eight, sizeof eight);
  }
  if (any == 0 || (beyond & kEach * 0x80) != 0) return {};
  return registers;
}

}  // namespace

void Distinct::add(std::string_view item) {
  const std::uint64_t hash = XXH3_64bits(item.data(), item.size());
  if (dense()) {
    const std::size_t index = hash >> (64 - precision_);
    const auto rank = static_cast<std::uint8_t>(rank_of(hash << precision_, 64 - precision_));
    registers_[index] = std::max(registers_[index], rank);
    return;
  }
  const auto index = static_cast<std::uint32_t>(hash >> (64 - kIndexBits));
  add_cell(index << kRankBits | rank_of(hash << kIndexBits, 64 - kIndexBits));
}

void Distinct::add_cell(std::uint32_t cell) {
  const auto at = std::ranges::lower_bound(cells_, index_in(cell), {}, index_in);
  if (at != cells_.end() && index_in(*at) == index_in(cell)) {
    *at = std::max(*at, cell);
    return;
  }
  cells_.insert(at, cell);
  if (cells_.size() > most_cells()) grow_dense();
}

void Distinct::note(std::uint32_t cell) {
  const Register found = register_of(cell, precision_);
  registers_[found.index] = std::max(registers_[found.index], found.rank);
}

void Distinct::grow_dense() {
  registers_.assign(std::size_t{1} << precision_, 0);
  for (const std::uint32_t cell : cells_) note(cell);
  cells_ = {};
}

Result<void> Distinct::merge(const Distinct& other) {
  if (other.precision_ != precision_) {
    return failure(ErrorCode::invalid, "distinct: sketches of different precision");
  }
  if (!dense() && !other.dense()) {
    for (const std::uint32_t cell : std::vector(other.cells_)) {
      dense() ? note(cell) : add_cell(cell);
    }
    return {};
  }
  if (!dense()) grow_dense();
  for (const std::uint32_t cell : other.cells_) note(cell);
  for (std::size_t i = 0; i < other.registers_.size(); ++i) {
    registers_[i] = std::max(registers_[i], other.registers_[i]);
  }
  return {};
}

double Distinct::estimate() const {
  if (dense()) return estimate_dense();
  const double cells = std::exp2(kIndexBits);
  return -cells * std::log1p(-static_cast<double>(cells_.size()) / cells);
}

double Distinct::estimate_dense() const {
  const unsigned most = 64 - precision_ + 1;
  // Four tables: most registers have one of a few ranks, and incrementing one counter twice in a
  // row has to wait for the first increment.
  std::array<std::array<std::uint32_t, 1U << kRankBits>, 4> tables = {};
  for (std::size_t i = 0; i < registers_.size(); i += 4) {
    for (std::size_t table = 0; table < 4; ++table) ++tables[table][registers_[i + table]];
  }
  const auto with_rank = [&](unsigned rank) {
    return static_cast<double>(tables[0][rank] + tables[1][rank] + tables[2][rank] +
                               tables[3][rank]);
  };
  const auto count = static_cast<double>(registers_.size());
  double z = count * tau(1 - with_rank(most) / count);
  for (unsigned rank = most - 1; rank > 0; --rank) z = 0.5 * (z + with_rank(rank));
  z += count * sigma(with_rank(0) / count);
  return count * count / (2 * std::numbers::ln2 * z);
}

Bytes Distinct::encode() const {
  RecordWriter out(RecordKind::distinct, kDistinctFormat);
  out.number(precision_);
  out.number(dense() ? 1 : 0);
  if (dense()) {
    out.bytes(packed(registers_));
  } else {
    out.number(cells_.size());
    std::uint32_t last = 0;
    for (const std::uint32_t cell : cells_) out.number(cell - std::exchange(last, cell));
  }
  return out.finish();
}

Result<Distinct> Distinct::decode(std::string_view record) {
  Result<RecordReader> in = RecordReader::open(record, RecordKind::distinct, kDistinctFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  const auto corrupt = failure(ErrorCode::corrupt, "a distinct sketch does not parse");
  const std::uint64_t precision = in->number();
  if (precision < kMinPrecision || precision > kMaxPrecision) return corrupt;
  Distinct sketch(static_cast<unsigned>(precision));
  const std::uint64_t form = in->number();
  if (form == 1) {
    sketch.registers_ = unpacked(in->bytes(), sketch.precision_);
    if (!in->sound() || !sketch.dense()) return corrupt;
    return sketch;
  }
  const std::uint64_t count = in->number();
  if (form != 0 || count > sketch.most_cells()) return corrupt;
  std::uint64_t cell = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t before = cell;
    cell += in->number();
    const bool ascends = i == 0 || cell >> kRankBits > before >> kRankBits;
    if (!ascends || cell < before || cell > std::numeric_limits<std::uint32_t>::max()) {
      return corrupt;
    }
    const auto small = static_cast<std::uint32_t>(cell);
    if (rank_in(small) == 0 || rank_in(small) > kMostCellRank) return corrupt;
    sketch.cells_.push_back(small);
  }
  if (!in->sound()) return corrupt;
  return sketch;
}

}  // namespace once::sketches

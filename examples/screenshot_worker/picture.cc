#include "picture.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace screenshot_worker {
namespace {

void append_number(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

// CRC-32 as PNG has it: of the reflected polynomial 0xEDB88320.
std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::uint32_t adler_of(std::string_view bytes) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65'521;
    b = (b + a) % 65'521;
  }
  return b << 16U | a;
}

// A zlib stream (RFC 1950) of blocks that are stored and not compressed (RFC 1951, 3.2.4).
std::string stored(std::string_view bytes) {
  constexpr std::size_t kLongestBlock = 65'535;
  std::string out = "\x78\x01";
  for (std::size_t at = 0; at < bytes.size(); at += kLongestBlock) {
    const std::string_view block = bytes.substr(at, kLongestBlock);
    const bool is_last = at + block.size() == bytes.size();
    const auto size = static_cast<std::uint16_t>(block.size());
    out += is_last ? '\1' : '\0';
    for (const unsigned number : {unsigned{size}, ~unsigned{size}}) {
      out += static_cast<char>(number);
      out += static_cast<char>(number >> 8U);
    }
    out += block;
  }
  append_number(out, adler_of(bytes));
  return out;
}

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_number(out, static_cast<std::uint32_t>(data.size()));
  const std::size_t start = out.size();
  out.append(type).append(data);
  append_number(out, crc_of(std::string_view(out).substr(start)));
}

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// Eight by five fields, the right half a mirror of the left, in a colour of the page's own.
std::string drawing_of(const Job& job) {
  const std::uint64_t hash = hash_of(job.page);
  const std::array<char, 3> colour = {static_cast<char>(hash), static_cast<char>(hash >> 8U),
                                      static_cast<char>(hash >> 16U)};
  std::string rows;
  for (int y = 0; y < job.height; ++y) {
    rows += '\0';  // This row is not filtered.
    for (int x = 0; x < job.width; ++x) {
      const int column = std::min(8 * x / job.width, 7 - 8 * x / job.width);
      const int field = 5 * y / job.height * 4 + column;
      const bool is_on = (hash >> (24 + field) & 1U) != 0;
      for (const char part : colour) rows += is_on ? part : '\xf0';
    }
  }
  return rows;
}

}  // namespace

std::string picture_of(const Job& job) {
  std::string header;
  append_number(header, static_cast<std::uint32_t>(job.width));
  append_number(header, static_cast<std::uint32_t>(job.height));
  header.append({8, 2, 0, 0, 0});  // Bits, red-green-blue, and the only methods that there are.
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", stored(drawing_of(job)));
  append_chunk(png, "IEND", "");
  return png;
}

}  // namespace screenshot_worker

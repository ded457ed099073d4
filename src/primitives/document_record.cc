#include "primitives/document_record.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "primitives/record.h"

namespace once::documents {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::uint8_t kEndingFormat = 2;  // Of a document that ends: its end follows the ids.
constexpr std::size_t kEtagDigits = 16;

void write_change(RecordWriter& out, const MadeChange& made) {
  out.bytes(made.id);
  out.bytes(made.hash);
  out.number(made.stamp.number);
  out.time(made.until);
}

MadeChange read_change(RecordReader& in) {
  MadeChange made;
  made.id = in.bytes();
  made.hash = in.bytes();
  made.stamp = {in.number()};
  made.until = in.time();
  return made;
}

Result<const Bytes*> bytes_of(const Item& item) {
  const Bytes* bytes = std::get_if<Bytes>(&item.value);
  if (bytes == nullptr) return failure(ErrorCode::corrupt, "a document's key holds a number");
  return bytes;
}

}  // namespace

Bytes encode(const DocumentRecord& record) {
  const bool ends = record.exists && record.until != kNever;
  RecordWriter out(RecordKind::document, ends ? kEndingFormat : kFormat);
  out.number(record.exists ? 1 : 0);
  out.number(record.stamp.number);
  out.bytes(record.content.type);
  out.bytes(record.content.bytes);
  out.number(record.made.size());
  for (const MadeChange& made : record.made) write_change(out, made);
  if (ends) out.time(record.until);
  return out.finish();
}

Result<DocumentRecord> decode_document(const std::optional<Item>& item, Time now) {
  if (!item) return DocumentRecord{};
  const Result<const Bytes*> bytes = bytes_of(*item);
  if (!bytes) return std::unexpected(bytes.error());
  Result<RecordReader> in = RecordReader::open(**bytes, RecordKind::document, kEndingFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  DocumentRecord record;
  record.exists = in->number(1) == 1;
  record.stamp = {in->number()};
  record.content.type = in->bytes();
  record.content.bytes = in->bytes();
  const std::uint64_t count = in->number(kMaxIdsInItem);
  for (std::uint64_t i = 0; i < count; ++i) record.made.push_back(read_change(*in));
  const bool ends = in->format() == kEndingFormat;
  if (ends) record.until = in->time();
  const bool one_form = !ends || (record.exists && record.until != kNever);
  if (!in->sound() || !one_form) {
    return failure(ErrorCode::corrupt, "a document's record does not parse");
  }
  if (record.until <= now) {
    record.exists = false;
    record.content = {"", ""};
    record.until = kNever;
  }
  return record;
}

Bytes encode_marker(const Bytes& hash) {
  RecordWriter out(RecordKind::document_change, kFormat);
  out.bytes(hash);
  return out.finish();
}

Result<Bytes> decode_marker(const Item& item) {
  const Result<const Bytes*> bytes = bytes_of(item);
  if (!bytes) return std::unexpected(bytes.error());
  Result<RecordReader> in = RecordReader::open(**bytes, RecordKind::document_change, kFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  Bytes hash = in->bytes();
  if (!in->sound()) return failure(ErrorCode::corrupt, "a change's marker does not parse");
  return hash;
}

Bytes hash_of_parts(std::initializer_list<std::string_view> parts) {
  Bytes chain;
  for (const std::string_view part : parts) chain += hash128(part);
  return hash128(chain);
}

Time expiry_of(const DocumentRecord& record, Time now, Duration clock_error) {
  Time end = record.exists ? record.until : later(now, kRemovalMemory);
  for (const MadeChange& made : record.made) end = std::max(end, later(made.until, clock_error));
  return end;
}

std::string etag_of(Version version) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(kEtagDigits, '0');
  for (std::size_t i = 0; i < kEtagDigits; ++i) {
    text[kEtagDigits - 1 - i] = kDigits[version.number >> (4 * i) & 0xf];
  }
  return text;
}

std::optional<Version> version_of(std::string_view etag) {
  Version version;
  std::from_chars(etag.data(), etag.data() + etag.size(), version.number, 16);
  // Exactly as etag_of() writes it: a version has one ETag.
  if (!version || etag != etag_of(version)) return std::nullopt;
  return version;
}

std::optional<Document> document_in(DocumentRecord record, Version version) {
  if (!record.exists) return std::nullopt;
  return Document{std::move(record.content), etag_of(version)};
}

}  // namespace once::documents

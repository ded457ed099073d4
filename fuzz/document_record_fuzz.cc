// Documents, the ids inside them, markers of changes, and ETags.
#include "fuzz/record_laws.h"
#include "primitives/document_record.h"

namespace once::fuzz {
namespace {

using documents::DocumentRecord;
using documents::MadeChange;

constexpr Time kNow{Duration(1'700'000'000'000)};
constexpr Duration kClockError{2'000};

Item holding(const Bytes& bytes) { return {.value = bytes, .version = {1}}; }

Result<DocumentRecord> decode(const Bytes& bytes) {
  return documents::decode_document(holding(bytes), Time::min());
}
Bytes encode(const DocumentRecord& record) { return documents::encode(record); }

Result<Bytes> decode_marker(const Bytes& bytes) { return documents::decode_marker(holding(bytes)); }

MadeChange change_of(FuzzedDataProvider& input) {
  return {.id = input.ConsumeRandomLengthString(),
          .hash = input.ConsumeBytesAsString(16),
          .stamp = {input.ConsumeIntegral<std::uint64_t>()},
          .until = time_of(input)};
}

DocumentRecord record_of(FuzzedDataProvider& input) {
  DocumentRecord record;
  record.exists = input.ConsumeBool();
  record.stamp = {input.ConsumeIntegral<std::uint64_t>()};
  if (record.exists) record.content.bytes = input.ConsumeRandomLengthString();
  record.content.type = record.exists ? input.ConsumeRandomLengthString() : "";
  while (input.remaining_bytes() > 0 && record.made.size() < documents::kMaxIdsInItem) {
    record.made.push_back(change_of(input));
  }
  return record;
}

// With any times inside, the item does not expire before its ids.
void check_expiry(const DocumentRecord& record) {
  const Time expiry = documents::expiry_of(record, kNow, kClockError);
  for (const MadeChange& made : record.made) {
    require(!documents::is_remembered(made, expiry, kClockError) || expiry == kNever);
  }
}

// A version has one ETag.
void check_etag(const Bytes& text, Version version) {
  if (const auto named = documents::version_of(text)) require(documents::etag_of(*named) == text);
  if (version) require(documents::version_of(documents::etag_of(version)) == version);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const Bytes bytes(reinterpret_cast<const char*>(data), size);
  check_decoding_of(RecordKind::document, bytes, decode, encode);
  check_decoding_of(RecordKind::document_change, bytes, decode_marker, documents::encode_marker);
  if (const auto found = decode(checksummed(RecordKind::document, bytes))) check_expiry(*found);

  FuzzedDataProvider input(data, size);
  const DocumentRecord record = record_of(input);
  check_encoding(record, decode, encode);
  check_expiry(record);
  check_etag(bytes, record.stamp);
  return 0;
}

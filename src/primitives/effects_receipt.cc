#include "primitives/effects_receipt.h"

#include "once/effects.h"
#include "primitives/record.h"

namespace once::effects {
namespace {

constexpr std::uint8_t kFormat = 1;

}  // namespace

Bytes encode(const Receipt& receipt) {
  RecordWriter out(RecordKind::receipt, kFormat);
  out.bytes(receipt.hash);
  out.number(receipt.call);
  out.number(receipt.version.number);
  out.number(receipt.appended.size());
  for (const Appended& appended : receipt.appended) {
    out.number(static_cast<std::uint64_t>(appended.first));
    out.number(static_cast<std::uint64_t>(appended.last));
  }
  return out.finish();
}

Result<Receipt> decode_receipt(const Value& value) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  if (bytes == nullptr) return failure(ErrorCode::corrupt, "a commit's id holds a number");
  Result<RecordReader> in = RecordReader::open(*bytes, RecordKind::receipt, kFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  Receipt receipt;
  receipt.hash = in->bytes();
  receipt.call = in->number();
  receipt.version = {in->number()};
  const std::uint64_t count = in->number(kMaxEffects);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::int64_t>(in->number());
    const auto last = static_cast<std::int64_t>(in->number());
    receipt.appended.push_back({first, last, true});
  }
  if (!in->sound()) {
    return failure(ErrorCode::corrupt, "a receipt does not parse");
  }
  return receipt;
}

}  // namespace once::effects

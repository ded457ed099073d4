// Receipts of effects.
#include "primitives/prepared_effects.h"

#include "fuzz/record_laws.h"

namespace once::fuzz {
namespace {

Bytes encode(const effects::Receipt& receipt) { return effects::encode(receipt); }

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const Bytes bytes(reinterpret_cast<const char*>(data), size);
  check_decoding_of(RecordKind::receipt, bytes, effects::decode_receipt, encode);
  return 0;
}

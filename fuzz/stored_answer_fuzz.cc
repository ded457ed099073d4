// Answers of an upstream as the proxy stores them.
#include "fuzz/record_laws.h"
#include "proxy/stored_answer.h"

namespace once::fuzz {
namespace {

using proxy::StoredAnswer;

constexpr int kMaxStatus = 999;

Result<StoredAnswer> decode(const Bytes& bytes) { return proxy::decode_answer(bytes); }

// An omitted body is known by its length alone, which may be any number: it is not rebuilt here.
Bytes encode(const StoredAnswer& answer) {
  if (!answer.without_body) return proxy::encode(answer.response);
  RecordWriter out(RecordKind::answer, 1);
  out.number(1);
  out.number(static_cast<std::uint64_t>(answer.response.status));
  out.number(answer.body_bytes);
  return out.finish();
}

void check_sense(const StoredAnswer& answer) {
  require(answer.response.status >= 0 && answer.response.status <= kMaxStatus);
  if (answer.without_body) {
    require(answer.response.body.empty() && answer.response.headers.fields().empty());
  } else {
    require(answer.body_bytes == answer.response.body.size());
  }
}

api::Response response_of(FuzzedDataProvider& input) {
  api::Response response;
  response.status = input.ConsumeIntegralInRange(0, kMaxStatus);
  for (int left = input.ConsumeIntegralInRange(0, 20); left > 0; --left) {
    std::string name = input.ConsumeRandomLengthString();
    response.headers.add(std::move(name), input.ConsumeRandomLengthString());
  }
  response.body = input.ConsumeRemainingBytesAsString();
  return response;
}

void require_equal(const api::Response& a, const api::Response& b) {
  require(a.status == b.status && a.body == b.body);
  const auto& left = a.headers.fields();
  const auto& right = b.headers.fields();
  require(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    require(left[i].name == right[i].name && left[i].value == right[i].value);
  }
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once;
  using namespace once::fuzz;
  const Bytes bytes(reinterpret_cast<const char*>(data), size);
  check_decoding_of(RecordKind::answer, bytes, decode, encode);
  if (const auto found = decode(checksummed(RecordKind::answer, bytes))) check_sense(*found);

  FuzzedDataProvider input(data, size);
  const api::Response response = response_of(input);
  const auto whole = decode(proxy::encode(response));
  require(whole && !whole->without_body);
  require_equal(whole->response, response);
  require_damage_is_seen(proxy::encode(response), decode);
  const auto cut = decode(proxy::encode_without_body(response));
  require(cut && cut->without_body && cut->response.status == response.status);
  require(cut->body_bytes == response.body.size());
  return 0;
}

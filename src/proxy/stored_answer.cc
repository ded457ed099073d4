#include "proxy/stored_answer.h"

#include "primitives/record.h"

namespace once::proxy {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::uint64_t kMaxHeaders = 10'000;

enum class Form : std::uint8_t { whole = 0, without_body = 1 };

RecordWriter start(int status, Form form) {
  RecordWriter out(RecordKind::answer, kFormat);
  out.number(static_cast<std::uint64_t>(form));
  out.number(static_cast<std::uint64_t>(status));
  return out;
}

}  // namespace

Bytes encode(const api::Response& response) {
  RecordWriter out = start(response.status, Form::whole);
  out.number(response.headers.fields().size());
  for (const auto& [name, value] : response.headers.fields()) {
    out.bytes(name);
    out.bytes(value);
  }
  out.bytes(response.body);
  return out.finish();
}

Bytes encode_without_body(const api::Response& response) {
  return encode_without_body(response.status, response.body.size());
}

Bytes encode_without_body(int status, std::uint64_t body_bytes) {
  RecordWriter out = start(status, Form::without_body);
  out.number(body_bytes);
  return out.finish();
}

Result<StoredAnswer> decode_answer(std::string_view record) {
  Result<RecordReader> in = RecordReader::open(record, RecordKind::answer, kFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  StoredAnswer answer;
  answer.without_body = in->number(1) == static_cast<std::uint64_t>(Form::without_body);
  answer.response.status = static_cast<int>(in->number(999));
  if (answer.without_body) {
    answer.body_bytes = in->number();
  } else {
    for (std::uint64_t left = in->number(kMaxHeaders); left > 0; --left) {
      std::string name = in->bytes();
      answer.response.headers.add(std::move(name), in->bytes());
    }
    answer.response.body = in->bytes();
    answer.body_bytes = answer.response.body.size();
  }
  if (!in->sound()) return failure(ErrorCode::corrupt, "a stored answer fails its checks");
  return answer;
}

}  // namespace once::proxy

#include "stores/s3/plain_object.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/digest.h"
#include "base/encoding.h"
#include "kernel/plain_form.h"

namespace once::s3 {
namespace {

constexpr std::string_view kPlainHeader = "x-amz-meta-once";
constexpr std::string_view kPlainFormat = "1";
constexpr std::string_view kRemovedType = "application/x-once-removed";
constexpr std::size_t kCheckDigits = 32;

// S3 takes 2 KiB of metadata.
constexpr std::size_t kMaxRest = 1'100;

std::string hex_of(std::uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return hex_encode(bytes);
}

template <class Number>
std::optional<Number> number_in(std::string_view text, int base) {
  Number number = 0;
  const char* const end = std::to_address(text.end());
  const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, number, base);
  if (text.empty() || error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

std::vector<std::string_view> cut(std::string_view text, char border) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(border);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string check_of(std::string_view name, std::string_view body, std::string_view rest) {
  std::string all = sha256(name);
  all.append(sha256(body)).append(rest);
  return sha256_hex(all).substr(0, kCheckDigits);
}

// What follows the check in the header.
std::string header_rest(const Object& object, const Bytes& rest) {
  const auto* const erased =
      object.tombstone ? std::get_if<std::int64_t>(&object.item.value) : nullptr;
  const std::int64_t time =
      erased != nullptr ? *erased : object.item.expiry.time_since_epoch().count();
  std::string text = hex_of(object.item.version.number);
  text.append(".").append(std::to_string(time)).append(".");
  for (std::size_t i = 0; i < object.before.size(); ++i) {
    text.append(i > 0 ? "," : "").append(hex_of(object.before[i].number));
  }
  return text.append(".").append(base64url_encode(rest));
}

std::optional<std::vector<Version>> versions_in(std::string_view text) {
  std::vector<Version> versions;
  if (text.empty()) return versions;
  for (const std::string_view one : cut(text, ',')) {
    const auto number = number_in<std::uint64_t>(one, 16);
    if (!number || versions.size() == kMaxBefore) return std::nullopt;
    versions.push_back({*number});
  }
  return versions;
}

// What our header says of an object; nothing if it is not ours, or of another object.
std::optional<Object> noted(std::string_view header, std::string_view name, std::string_view body,
                            PlainForm::Parts& parts) {
  const std::vector<std::string_view> fields = cut(header, '.');
  if (fields.size() != 6 || fields[0] != kPlainFormat) return std::nullopt;
  const std::string_view rest = header.substr(fields[0].size() + fields[1].size() + 2);
  if (fields[1] != check_of(name, body, rest)) return std::nullopt;
  const auto version = number_in<std::uint64_t>(fields[2], 16);
  const auto expiry = number_in<std::int64_t>(fields[3], 10);
  auto before = versions_in(fields[4]);
  std::optional<Bytes> kept = base64url_decode(fields[5]);
  if (!version || !expiry || !before || !kept) return std::nullopt;
  parts.rest = std::move(*kept);
  Object object{.key = plain_documents().key_of(name), .item = {}, .before = std::move(*before)};
  object.item.version = {*version};
  object.tombstone = parts.rest.empty();
  if (object.tombstone) {
    object.item.value = *expiry;
  } else {
    object.item.expiry = Time(Duration(*expiry));
  }
  return object;
}

Object foreign(std::string_view name, const aws::Response& response) {
  std::string all = sha256(name);
  all.append(aws::header_of(response.headers, "ETag")).append(" ");
  all.append(aws::header_of(response.headers, "Last-Modified"));
  const auto number = number_in<std::uint64_t>(sha256_hex(all).substr(0, 16), 16);
  Object object{.key = plain_documents().key_of(name), .item = {}, .before = {}};
  object.item.version = {std::max<std::uint64_t>(number.value_or(1), 1)};
  object.item.expiry = kNever;
  return object;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.front() == '!' || name.front() == ' ') return false;
  for (const std::string_view segment : cut(name, '/')) {
    if (segment.empty() || segment == "." || segment == "..") return false;
  }
  return true;
}

std::optional<std::string> plain_name(const Key& key) {
  const std::optional<std::string_view> name = plain_documents().name_of(key);
  if (!name || !is_plain_name(*name)) return std::nullopt;
  return std::string(*name);
}

Result<PlainBody> plain_body(std::string_view name, const Object& object) {
  Result<PlainForm::Parts> parts = PlainForm::Parts{.shown = false};
  if (!object.tombstone) parts = plain_documents().split(object.item.value, kMaxRest);
  if (!parts) return std::unexpected(std::move(parts.error()));
  if (parts->rest.size() > kMaxRest) return failure(ErrorCode::too_large, "too long an id");
  if (!parts->shown) {
    parts->type = kRemovedType;
    parts->body = "removed " + hex_of(object.item.version.number) + "\n";
  }
  const std::string rest = header_rest(object, parts->rest);
  std::string header(kPlainFormat);
  header.append(".").append(check_of(name, parts->body, rest)).append(".").append(rest);
  return PlainBody{std::move(parts->body),
                   {{"Content-Type", std::move(parts->type)}, {std::string(kPlainHeader), header}}};
}

Result<Object> read_plain(std::string_view name, const aws::Response& response) {
  PlainForm::Parts parts{
      response.body, std::string(aws::header_of(response.headers, "Content-Type")), {}};
  std::optional<Object> object =
      noted(aws::header_of(response.headers, kPlainHeader), name, response.body, parts);
  if (object && object->tombstone) return std::move(*object);
  if (!object) object = foreign(name, response);
  Result<Value> value = plain_documents().join(parts, object->item.version);
  if (!value) return std::unexpected(std::move(value.error()));
  object->item.value = std::move(*value);
  return std::move(*object);
}

bool is_removed(const Object& object) {
  if (object.tombstone) return true;
  const Result<PlainForm::Parts> parts = plain_documents().split(object.item.value, kMaxRest);
  return parts && !parts->shown;
}

}  // namespace once::s3

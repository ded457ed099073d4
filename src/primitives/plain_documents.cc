// Documents as plain objects. Beside the bytes lies the rest of the record: whether the document
// was removed, its end, and the ids of its last changes.
#include "base/header_text.h"
#include "kernel/plain_form.h"
#include "primitives/document_change.h"
#include "primitives/keys.h"

namespace once {
namespace {

using documents::Content;
using documents::DocumentRecord;

constexpr std::string_view kNamespace = "default";
constexpr std::string_view kForeignType = "application/octet-stream";

class PlainDocuments final : public PlainForm {
 public:
  std::optional<std::string_view> name_of(const Key& key) const override {
    const std::string_view home = key.partition.home;
    if (!home.starts_with(prefix_) || !key.partition.part.empty() || key.sort != 0) {
      return std::nullopt;
    }
    return home.substr(prefix_.size());
  }

  Key key_of(std::string_view name) const override { return keys::document(kNamespace, name); }

  Result<Parts> split(const Value& value, std::size_t rest_bytes) const override {
    Result<DocumentRecord> record = documents::decode_document(Item{value}, Time::min());
    if (!record) return std::unexpected(std::move(record.error()));
    Parts parts{std::move(record->content.bytes), std::move(record->content.type), {}};
    parts.shown = record->exists;
    record->content = Content{"", ""};
    parts.rest = documents::encode(*record);
    while (parts.rest.size() > rest_bytes && !record->made.empty()) {
      record->made.erase(record->made.begin());
      parts.rest = documents::encode(*record);
    }
    return parts;
  }

  Result<Value> join(const Parts& parts, Version version) const override {
    DocumentRecord record{.exists = true, .stamp = version, .content = {}};
    if (!parts.rest.empty()) {
      Result<DocumentRecord> rest = documents::decode_document(Item{parts.rest}, Time::min());
      if (!rest) return std::unexpected(std::move(rest.error()));
      record = std::move(*rest);
    }
    if (record.exists) record.content = {parts.body, parts.type};
    if (record.exists && !documents::check_content(record.content)) {
      record.content.type = kForeignType;
    }
    return documents::encode(record);
  }

 private:
  const std::string prefix_ = keys::document_prefix(kNamespace);
};

}  // namespace

const PlainForm& plain_documents() {
  static const PlainDocuments form;
  return form;
}

}  // namespace once

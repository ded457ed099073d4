// A document as a plain object: its body is the document's bytes, its type the document's, and the
// header x-amz-meta-once has the rest:
//
//   1.CHECK.VERSION.EXPIRY.BEFORE,BEFORE,….REST
//
// CHECK is half of the SHA-256 of the name, the body and what follows in the header, the versions
// are in hexadecimal digits, the expiry (of a tombstone, when it was erased) in milliseconds since
// 1970, and REST is base64url; a tombstone has none. Programs
// that copy an object or replace its body may keep its metadata: then CHECK does not fit, and the
// object counts as another program's. Its version is a hash of its name, ETag and time. A removed
// document is an object whose body says so, and is like no other's.
//
// An ETag here is a hash of the document's bytes: bytes that come back have the same
// (docs/stores.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/message.h"
#include "once/error.h"
#include "stores/s3/object.h"

namespace once::s3 {

// What comes after all other names of the store, and before those of plain objects.
inline constexpr std::string_view kBeforePlain = "!~";

// Names of documents that no server makes another path of, and that are none of the store's own.
// Others are stored as all items are.
bool is_plain_name(std::string_view name);

// The name of the object if the key's item is a plain one.
std::optional<std::string> plain_name(const Key& key);

struct PlainBody {
  std::string body;
  std::vector<aws::Header> headers;  // The content type among them.
};
Result<PlainBody> plain_body(std::string_view name, const Object& object);

// Reads any object, of other programs too.
Result<Object> read_plain(std::string_view name, const aws::Response& response);

// Whether it is the mark of a removed document.
bool is_removed(const Object& object);

}  // namespace once::s3

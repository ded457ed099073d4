// s3://BUCKET/PREFIX?region=REGION&endpoint=URL&style=path|host&etag=bare|quoted&timeout=SECONDS
//     &connections=N&documents=plain|items
#include <utility>

#include "base/encoding.h"
#include "kernel/store_kind.h"
#include "once/s3_store.h"
#include "stores/s3/objects.h"

namespace once {
namespace {

constexpr std::string_view kOptions =
    "s3 has the options region, endpoint, style (path or host), etag (quoted or bare), timeout (in "
    "seconds), connections (1 to 1000) and documents (items or plain)";

bool set_option(S3Options& options, std::string_view name, const std::string& value) {
  if (name == "region") {
    options.region = value;
  } else if (name == "endpoint") {
    options.endpoint = value;
  } else if (name == "style" && (value == "path" || value == "host")) {
    options.style = value == "path" ? S3Options::Style::path : S3Options::Style::host;
  } else if (name == "etag" && (value == "bare" || value == "quoted")) {
    options.bare_etags = value == "bare";
  } else if (name == "documents" && (value == "plain" || value == "items")) {
    options.plain_documents = value == "plain";
  } else {
    return set_server_option(options, name, value);
  }
  return true;
}

Result<S3Options> options_of(const Address& address) {
  std::string_view place = address.place;
  const bool named = place.starts_with("//") && place.size() > 2 && place[2] != '/';
  if (named) place.remove_prefix(2);
  const std::size_t slash = place.find('/');
  std::optional<std::string> prefix =
      percent_decode(slash == place.npos ? std::string_view() : place.substr(slash + 1));
  if (!named || !prefix) {
    return failure(ErrorCode::invalid,
                   "an address of S3 is s3://BUCKET/PREFIX?region=REGION, with a % in the prefix "
                   "as %25 and a ? as %3F");
  }
  S3Options options{.bucket = std::string(place.substr(0, slash)), .prefix = std::move(*prefix)};
  return with_options(address, std::move(options), kOptions, set_option);
}

Result<std::unique_ptr<Store>> open_at(const Address& address, const OpenOptions& /*options*/) {
  const Result<S3Options> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return open_s3(*options);
}

Result<std::unique_ptr<Objects>> objects_at(const Address& address) {
  const Result<S3Options> options = options_of(address);
  if (!options) return std::unexpected(options.error());
  return open_objects(*options);
}

}  // namespace

StoreKind s3_kind() {
  return {.scheme = "s3",
          .example = "s3://bucket/prefix?region=R",
          .description = "a bucket of Amazon S3 or what speaks like it, one write a commit",
          .is_server = true,
          .open = open_at,
          .objects = objects_at};
}

}  // namespace once

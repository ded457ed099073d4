#include "stores/s3/listing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "stores/s3/reply.h"

namespace once::s3 {
namespace {

// The text of the first such element, and `xml` cut to what comes after it.
std::optional<std::string_view> take(std::string_view& xml, std::string_view name) {
  const std::string open = std::string("<").append(name).append(">");
  const std::string close = std::string("</").append(name).append(">");
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = xml.substr(begin + open.size(), end - begin - open.size());
  xml.remove_prefix(end + close.size());
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Some servers leave characters to XML that others write as %XX.
std::string xml_decoded(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string plain;
  while (!text.empty()) {
    const auto entity = std::ranges::find_if(
        kEntities, [&](const auto& known) { return text.starts_with(known.first); });
    const bool found = entity != kEntities.end();
    plain += found ? entity->second : text.front();
    text.remove_prefix(found ? entity->first.size() : 1);
  }
  return plain;
}

// Amazon writes a space as a plus sign, others as %20.
std::optional<std::string> url_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0) {
      return std::nullopt;
    }
    plain += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
    i += 2;
  }
  return plain;
}

std::unexpected<Error> no_list() {
  return failure(ErrorCode::corrupt, "s3: a list of names is not one");
}

}  // namespace

Result<NamePage> read_names(std::string_view xml, std::string_view store_prefix) {
  NamePage page;
  std::string_view rest = xml;
  if (xml.find("<ListBucketResult") == std::string_view::npos) return no_list();
  const std::optional<std::string_view> more = take(rest, "IsTruncated");
  if (!more) return no_list();
  page.more = *more == "true";
  rest = xml;
  while (std::optional<std::string_view> contents = take(rest, "Contents")) {
    std::string_view fields = *contents;
    const std::optional<std::string_view> key = take(fields, "Key");
    std::optional<std::string> name = key ? url_decoded(xml_decoded(*key)) : std::nullopt;
    if (!name || !name->starts_with(store_prefix)) return no_list();
    fields = *contents;
    const std::string_view size = take(fields, "Size").value_or("");
    Listed listed{name->substr(store_prefix.size())};
    std::from_chars(std::to_address(size.begin()), std::to_address(size.end()), listed.size);
    page.names.push_back(std::move(listed));
  }
  return page;
}

Result<NamePage> list_names(Bucket& bucket, std::string_view prefix, std::string_view after,
                            std::size_t count, aws::Deadline deadline, StoreOperation operation) {
  const aws::Request request = bucket.list(prefix, after, count);
  const Result<std::optional<std::string>> body =
      read_body(bucket.send(request, deadline, operation));
  if (!body) return std::unexpected(body.error());
  if (!*body) return no_list();
  return read_names(**body, bucket.prefix());
}

}  // namespace once::s3

#include "queues/sqs/form.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <pugixml.hpp>
#include <utility>

#include "aws/signer.h"
#include "base/encoding.h"

namespace once::sqs {
namespace {

std::unexpected<Error> unreadable() {
  return failure(ErrorCode::unknown, "sqs: an answer that is none");
}

// The element `...Result` of an answer, which is the only child but the metadata.
Result<pugi::xml_node> result_in(const std::string& xml, pugi::xml_document& document) {
  const auto parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata);
  const pugi::xml_node answer = document.document_element();
  if (!parsed || !std::string_view(answer.name()).ends_with("Response")) return unreadable();
  for (const pugi::xml_node child : answer.children()) {
    if (std::string_view(child.name()).ends_with("Result")) return child;
  }
  return unreadable();
}

std::int64_t number_in(const std::string& text) {
  std::int64_t number = 0;
  std::from_chars(std::to_address(text.begin()), std::to_address(text.end()), number);
  return number;
}

void take_system_attributes(pugi::xml_node element, Message& message) {
  for (const pugi::xml_node attribute : element.children("Attribute")) {
    const std::string_view name = attribute.child_value("Name");
    if (name == "ApproximateReceiveCount") {
      message.deliveries = std::max<std::int64_t>(1, number_in(attribute.child_value("Value")));
    } else if (name == "MessageGroupId") {
      message.group = attribute.child_value("Value");
    } else if (name == "SentTimestamp") {
      message.sent = Time(Duration(number_in(attribute.child_value("Value"))));
    }
  }
}

constexpr char kBetweenFields = '=';
constexpr char kBetweenAttributes = '&';

// Each field is percent-encoded, so that the separators are in none.
void append_original(std::string& original, const TypedAttribute& attribute) {
  original.append(percent_encode(attribute.name)).push_back(kBetweenFields);
  original.append(percent_encode(attribute.type)).push_back(kBetweenFields);
  original.append(percent_encode(attribute.value)).push_back(kBetweenAttributes);
}

// Up to the separator, which is removed, too.
std::string take_field(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  std::string field = percent_decode(text.substr(0, end)).value_or("");
  text.remove_prefix(std::min(end + 1, text.size()));
  return field;
}

void take_attributes(pugi::xml_node element, Message& message) {
  for (const pugi::xml_node attribute : element.children("MessageAttribute")) {
    const pugi::xml_node value = attribute.child("Value");
    const pugi::xml_node text = value.child("StringValue");
    const TypedAttribute typed{
        .name = attribute.child_value("Name"),
        .type = value.child_value("DataType"),
        .value = text ? text.child_value() : value.child_value("BinaryValue")};
    append_original(message.original, typed);
    message.attributes[typed.name] = typed.value;
  }
  constexpr std::array<std::string_view, 3> kTypes = {"Content-Type", "content-type",
                                                      "contentType"};
  for (const std::string_view name : kTypes) {
    const auto found = message.attributes.find(name);
    if (found != message.attributes.end()) message.content_type = found->second;
  }
}

bool in_xml(unsigned char c) { return c >= ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

Form::Form(std::string_view action) {
  add("Action", action);
  add("Version", "2012-11-05");
}

Form& Form::add(std::string_view name, std::string_view value) {
  if (!body_.empty()) body_ += '&';
  body_.append(name).append("=").append(percent_encode(value));
  return *this;
}

Form& Form::add(std::string_view name, std::int64_t value) {
  return add(name, std::string_view(std::to_string(value)));
}

aws::Request Form::request(std::string path) const {
  return {.path = std::move(path),
          .headers = {{"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}},
          .body = body_,
          .repeatable = true};
}

Result<std::vector<Message>> messages_in(const std::string& xml) {
  pugi::xml_document document;
  const Result<pugi::xml_node> result = result_in(xml, document);
  if (!result) return std::unexpected(result.error());
  std::vector<Message> messages;
  for (const pugi::xml_node element : result->children("Message")) {
    Message message;
    message.id = element.child_value("MessageId");
    message.body = element.child_value("Body");
    message.handle = element.child_value("ReceiptHandle");
    take_system_attributes(element, message);
    take_attributes(element, message);
    messages.push_back(std::move(message));
  }
  return messages;
}

// The host stays the configured one: behind a tunnel the server knows another.
Result<std::string> path_in(const std::string& xml) {
  pugi::xml_document document;
  const Result<pugi::xml_node> result = result_in(xml, document);
  if (!result) return std::unexpected(result.error());
  const std::string url = result->child_value("QueueUrl");
  const std::size_t host = url.find("://");
  const std::size_t path = host == std::string::npos ? host : url.find('/', host + 3);
  if (path == std::string::npos) return unreadable();
  return url.substr(path);
}

Result<std::map<std::string, std::string>> attributes_in(const std::string& xml) {
  pugi::xml_document document;
  const Result<pugi::xml_node> result = result_in(xml, document);
  if (!result) return std::unexpected(result.error());
  std::map<std::string, std::string> attributes;
  for (const pugi::xml_node attribute : result->children("Attribute")) {
    attributes[attribute.child_value("Name")] = attribute.child_value("Value");
  }
  return attributes;
}

std::vector<TypedAttribute> typed_attributes(const Message& message) {
  std::vector<TypedAttribute> attributes;
  for (std::string_view left = message.original; !left.empty();) {
    TypedAttribute attribute;
    attribute.name = take_field(left, kBetweenFields);
    attribute.type = take_field(left, kBetweenFields);
    attribute.value = take_field(left, kBetweenAttributes);
    attributes.push_back(std::move(attribute));
  }
  if (!attributes.empty()) return attributes;
  for (const auto& [name, value] : message.attributes)
    attributes.push_back({name, "String", value});
  return attributes;
}

Result<std::map<std::string, std::string>> failed_in(const std::string& xml) {
  pugi::xml_document document;
  const Result<pugi::xml_node> result = result_in(xml, document);
  if (!result) return std::unexpected(result.error());
  std::map<std::string, std::string> failed;
  for (const pugi::xml_node entry : result->children("BatchResultErrorEntry")) {
    failed[entry.child_value("Id")] = entry.child_value("Code");
  }
  return failed;
}

std::string sendable(std::string_view text, std::size_t most) {
  std::size_t length = std::min(text.size(), most);
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (length > 0 && continues(length)) --length;
  std::string sent(text.substr(0, length));
  std::ranges::replace_if(sent, [](char c) { return !in_xml(static_cast<unsigned char>(c)); }, ' ');
  return sent;
}

}  // namespace once::sqs

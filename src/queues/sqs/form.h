// The query protocol of SQS, which Amazon, LocalStack and ElasticMQ speak: forms go out, XML comes
// back.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aws/message.h"
#include "once/queue.h"

namespace once::sqs {

// A call, as the body of a request.
class Form {
 public:
  explicit Form(std::string_view action);

  Form& add(std::string_view name, std::string_view value);
  Form& add(std::string_view name, std::int64_t value);

  // To the queue of that path, or to the service: "/". May be repeated.
  aws::Request request(std::string path) const;

 private:
  std::string body_;
};

// Parsers of answers; `unknown` if an answer does not follow the protocol.
Result<std::vector<Message>> messages_in(const std::string& xml);
Result<std::string> path_in(const std::string& xml);  // Of a queue's URL.
Result<std::map<std::string, std::string>> attributes_in(const std::string& xml);

// The attributes of a received message with their types, in the order in which they came; those of
// Message::attributes, as text, for a message that did not come from SQS.
struct TypedAttribute {
  std::string name;
  std::string type;   // "String", "Number.int", "Binary".
  std::string value;  // Binary in base64.
};
std::vector<TypedAttribute> typed_attributes(const Message& message);

// The failed entries of a batch: the reason by id.
Result<std::map<std::string, std::string>> failed_in(const std::string& xml);

// SQS takes only the characters of XML: others become spaces. At most `most` bytes, cut between
// characters.
std::string sendable(std::string_view text, std::size_t most);

}  // namespace once::sqs

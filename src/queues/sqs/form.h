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

  // To the queue of that path, or to the service: "/". A repeated one does no harm.
  aws::Request request(std::string path) const;

 private:
  std::string body_;
};

// What is read of the answers; `unknown` if they are not what the protocol says.
Result<std::vector<Message>> messages_in(const std::string& xml);
Result<std::string> path_in(const std::string& xml);  // Of a queue's URL.
Result<std::map<std::string, std::string>> attributes_in(const std::string& xml);

// Of a batch, the entries that were not done, by id, and why.
Result<std::map<std::string, std::string>> failed_in(const std::string& xml);

// Texts in SQS are of the characters that XML has: what is none of them is a space. At most so many
// bytes, and no half of a character.
std::string sendable(std::string_view text, std::size_t most);

}  // namespace once::sqs

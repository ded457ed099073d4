// Queues of one ElasticMQ, and what senders and operators do with them.
#pragma once

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aws/client.h"
#include "queues/sqs/form.h"
#include "testing/servers/elasticmq.h"

namespace once::testing {

// Started when it is first asked for. Its process ends with the thread that asked.
inline ElasticMq& shared_elasticmq() {
  static const bool named = ::setenv("AWS_ACCESS_KEY_ID", "AKIDTEST", 1) == 0 &&
                            ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1) == 0;
  static ElasticMq server;
  if (!named) throw std::runtime_error("no environment");
  return server;
}

class SqsSender {
 public:
  explicit SqsSender(std::string url)
      : client_(aws::Client::open({.endpoint = std::move(url),
                                   .region = "eu-west-1",
                                   .service = "sqs",
                                   .credentials = aws::fixed_credentials({"id", "secret"})})
                    .value()) {}

  void make(const std::string& queue) {
    sqs::Form form("CreateQueue");
    call(form.add("QueueName", queue), "/");
  }
  void send(const std::string& queue, const std::string& body) {
    sqs::Form form("SendMessage");
    call(form.add("MessageBody", body), "/queue/" + queue);
  }
  // Ten at a time.
  void send_all(const std::string& queue, const std::vector<std::string>& bodies) {
    for (std::size_t at = 0; at < bodies.size(); at += 10) {
      sqs::Form form("SendMessageBatch");
      for (std::size_t i = at; i < std::min(at + 10, bodies.size()); ++i) {
        const std::string entry = "SendMessageBatchRequestEntry." + std::to_string(i - at + 1);
        form.add(entry + ".Id", std::to_string(i - at)).add(entry + ".MessageBody", bodies[i]);
      }
      call(form, "/queue/" + queue);
    }
  }
  // Hidden ones are counted, too; and for a while some that are gone.
  std::int64_t size(const std::string& queue) {
    sqs::Form form("GetQueueAttributes");
    const auto attributes =
        sqs::attributes_in(call(form.add("AttributeName.1", "All"), "/queue/" + queue)).value();
    return std::stoll(attributes.at("ApproximateNumberOfMessages")) +
           std::stoll(attributes.at("ApproximateNumberOfMessagesNotVisible"));
  }
  std::vector<Message> receive(const std::string& queue) {
    sqs::Form form("ReceiveMessage");
    form.add("MaxNumberOfMessages", 10).add("AttributeName.1", "All");
    return sqs::messages_in(call(form, "/queue/" + queue)).value();
  }

 private:
  std::string call(const sqs::Form& form, const std::string& path) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto answer = client_->send(form.request(path), deadline);
    if (!answer) throw std::runtime_error(answer.error().message);
    if (answer->status >= 300) throw std::runtime_error(answer->body);
    return answer->body;
  }

  std::unique_ptr<aws::Client> client_;
};

}  // namespace once::testing

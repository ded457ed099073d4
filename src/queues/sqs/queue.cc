#include "queues/sqs/queue.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "aws/client.h"
#include "aws/configuration.h"
#include "aws/credential_chain.h"
#include "aws/message.h"
#include "aws/retrying.h"
#include "queues/sqs/acks.h"
#include "queues/sqs/form.h"

namespace once::sqs {
namespace {

constexpr std::int64_t kMostHidden = 43'200;  // Seconds.
constexpr std::int64_t kMostMessages = 10;    // Of one answer.
constexpr auto kPatience = std::chrono::seconds(10);
constexpr std::size_t kMostReason = 1'000;   // Bytes.
constexpr std::size_t kMostAttributes = 10;  // Of a message.
constexpr std::string_view kFifo = ".fifo";
constexpr const char* kReason = "Once-Reason";
constexpr const char* kId = "Once-Id";

// The service hides messages for whole seconds.
std::int64_t seconds_of(Duration length) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(length).count();
  return std::clamp<std::int64_t>(seconds, 0, kMostHidden);
}

std::string dead_name(const Options& options) {
  if (!options.dead.empty()) return options.dead;
  std::string name = options.queue;
  const bool fifo = name.ends_with(kFifo);
  if (fifo) name.resize(name.size() - kFifo.size());
  name += "-dead";
  return fifo ? name.append(kFifo) : name;
}

bool says_no_queue(const aws::Response& response) {
  const std::string code = aws::service_error(response).code;
  return code.ends_with("NonExistentQueue") || code == "QueueDoesNotExist";
}

class Service {
 public:
  explicit Service(std::unique_ptr<aws::Client> client) : client_(std::move(client)) {}

  // The body of a successful answer.
  Result<std::string> call(const Form& form, const std::string& path) {
    aws::Retrying retrying(*client_);
    return body_of(retrying.send(form.request(path), std::chrono::steady_clock::now() + kPatience));
  }

  // Sent once: the messages of a lost answer come again by themselves.
  Result<std::string> call_once(const Form& form, const std::string& path, Duration wait) {
    return body_of(
        client_->send(form.request(path), std::chrono::steady_clock::now() + wait + kPatience));
  }

  Result<aws::Response> ask(const Form& form) {
    aws::Retrying retrying(*client_);
    return retrying.send(form.request("/"), std::chrono::steady_clock::now() + kPatience);
  }

 private:
  // A queue that is gone may be created again, so this is not final.
  static Result<std::string> body_of(Result<aws::Response> answer) {
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (answer->status < 300) return std::move(answer->body);
    Error error = aws::error_of(*answer);
    if (says_no_queue(*answer)) error.code = ErrorCode::unavailable;
    return std::unexpected(std::move(error));
  }

  const std::unique_ptr<aws::Client> client_;
};

class SqsQueue final : public Queue {
 public:
  SqsQueue(std::unique_ptr<Service> service, Options options, std::string path,
           std::string dead_path)
      : service_(std::move(service)),
        options_(std::move(options)),
        path_(std::move(path)),
        dead_path_(std::move(dead_path)),
        acks_([this](std::span<const std::string> handles) { return delete_all(handles); }) {}

  std::string name() const override { return "sqs" + path_; }
  std::string describe() const override {
    return "SQS queue " + options_.queue + ", dead letters in " + dead_name(options_);
  }

  Result<std::optional<Duration>> retention() override {
    const Result<std::optional<std::int64_t>> seconds = attribute("MessageRetentionPeriod");
    if (!seconds) return std::unexpected(seconds.error());
    if (!*seconds) return std::nullopt;
    return std::chrono::seconds(**seconds);
  }

  Result<std::optional<std::uint64_t>> depth() override {
    const Result<std::optional<std::int64_t>> count = attribute("ApproximateNumberOfMessages");
    if (!count) return std::unexpected(count.error());
    if (!*count) return std::nullopt;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, **count));
  }

  Result<std::vector<Message>> receive(std::size_t most, Duration hidden) override {
    Form form("ReceiveMessage");
    form.add("MaxNumberOfMessages",
             std::clamp<std::int64_t>(static_cast<std::int64_t>(most), 1, kMostMessages));
    form.add("WaitTimeSeconds", seconds_of(options_.wait));
    form.add("VisibilityTimeout", seconds_of(hidden));
    form.add("AttributeName.1", "All").add("MessageAttributeName.1", "All");
    const Result<std::string> answer = service_->call_once(form, path_, options_.wait);
    if (!answer) return std::unexpected(answer.error());
    return messages_in(*answer);
  }

  Result<void> ack(const Message& message) override { return acks_.ack(message.handle); }

  Result<void> give_back(const Message& message, Duration delay) override {
    return hide(message, delay);
  }
  Result<void> extend(const Message& message, Duration hidden) override {
    return hide(message, hidden);
  }

  // A message may be as large as messages can be, or have as many attributes: what it came with
  // goes first.
  Result<DeadLetter> dead_letter(const Message& message, const std::string& reason) override {
    const TypedAttribute id{kId, "String", message.id};
    const TypedAttribute why{kReason, "String", sendable(reason, kMostReason)};
    const std::vector<std::vector<TypedAttribute>> marks = {{id, why}, {id}, {}};
    Result<DeadLetter> sent = failure(ErrorCode::too_large, "sqs: no room for a dead letter");
    for (const std::vector<TypedAttribute>& some : marks) {
      sent = send_dead(message, some);
      const bool too_large = !sent && (sent.error().code == ErrorCode::too_large ||
                                       sent.error().code == ErrorCode::invalid);
      if (!too_large) break;
    }
    return sent;
  }

 private:
  Result<void> hide(const Message& message, Duration length) {
    Form form("ChangeMessageVisibility");
    form.add("ReceiptHandle", message.handle).add("VisibilityTimeout", seconds_of(length));
    return done(service_->call(form, path_));
  }

  // A number that the service tells of the queue; nothing if it does not.
  Result<std::optional<std::int64_t>> attribute(const std::string& name) {
    Form form("GetQueueAttributes");
    form.add("AttributeName.1", "All");
    const Result<std::string> answer = service_->call(form, path_);
    if (!answer) return std::unexpected(answer.error());
    const auto attributes = attributes_in(*answer);
    if (!attributes) return std::unexpected(attributes.error());
    const auto found = attributes->find(name);
    if (found == attributes->end()) return std::nullopt;
    std::int64_t number = 0;
    std::from_chars(std::to_address(found->second.begin()), std::to_address(found->second.end()),
                    number);
    return number;
  }

  static Result<void> done(const Result<std::string>& answer) {
    if (!answer) return std::unexpected(answer.error());
    return {};
  }

  static bool is_mark(const TypedAttribute& attribute) {
    return attribute.name == kReason || attribute.name == kId;
  }

  Result<DeadLetter> send_dead(const Message& message, const std::vector<TypedAttribute>& marks) {
    Form form("SendMessage");
    form.add("MessageBody", message.body);
    std::vector<TypedAttribute> attributes = typed_attributes(message);
    std::erase_if(attributes, is_mark);  // Of an earlier letter that was put back.
    attributes.insert(attributes.end(), marks.begin(), marks.end());
    std::erase_if(attributes, [](const TypedAttribute& one) { return one.value.empty(); });
    if (attributes.size() > kMostAttributes) attributes.resize(kMostAttributes);
    const bool has_reason =
        std::ranges::find(attributes, kReason, &TypedAttribute::name) != attributes.end();
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      const std::string prefix = "MessageAttribute." + std::to_string(i + 1);
      const auto& [name, type, value] = attributes[i];
      form.add(prefix + ".Name", name).add(prefix + ".Value.DataType", type);
      const bool binary = type.starts_with("Binary");
      form.add(prefix + (binary ? ".Value.BinaryValue" : ".Value.StringValue"), value);
    }
    if (dead_path_.ends_with(kFifo)) {
      form.add("MessageGroupId", message.group.empty() ? message.id : message.group);
      form.add("MessageDeduplicationId", message.id);
    }
    const Result<std::string> answer = service_->call(form, dead_path_);
    if (!answer) return std::unexpected(answer.error());
    return DeadLetter{.has_reason = has_reason};
  }

  std::vector<Result<void>> delete_all(std::span<const std::string> handles) {
    Form form("DeleteMessageBatch");
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const std::string prefix = "DeleteMessageBatchRequestEntry." + std::to_string(i + 1);
      form.add(prefix + ".Id", std::to_string(i));
      form.add(prefix + ".ReceiptHandle", handles[i]);
    }
    const Result<std::string> answer = service_->call(form, path_);
    if (!answer) return {handles.size(), std::unexpected(answer.error())};
    const auto failed = failed_in(*answer);
    if (!failed) return {handles.size(), std::unexpected(failed.error())};
    std::vector<Result<void>> results(handles.size());
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const auto found = failed->find(std::to_string(i));
      if (found == failed->end()) continue;
      results[i] = failure(ErrorCode::unavailable, "sqs: not acknowledged: " + found->second);
    }
    return results;
  }

  const std::unique_ptr<Service> service_;
  const Options options_;
  const std::string path_;
  const std::string dead_path_;
  Acks acks_;
};

// Nothing if there is no such queue.
Result<std::optional<std::string>> find(Service& service, const std::string& name) {
  Form form("GetQueueUrl");
  form.add("QueueName", name);
  const Result<aws::Response> answer = service.ask(form);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status >= 300 && says_no_queue(*answer)) return std::nullopt;
  if (answer->status >= 300) return std::unexpected(aws::error_of(*answer));
  return path_in(answer->body);
}

Result<std::string> find_or_make(Service& service, const std::string& name) {
  Result<std::optional<std::string>> found = find(service, name);
  if (!found) return std::unexpected(std::move(found.error()));
  if (*found) return std::move(**found);
  Form form("CreateQueue");
  form.add("QueueName", name);
  form.add("Attribute.1.Name", "MessageRetentionPeriod").add("Attribute.1.Value", "1209600");
  if (name.ends_with(kFifo)) {
    form.add("Attribute.2.Name", "FifoQueue").add("Attribute.2.Value", "true");
  }
  const Result<std::string> made = service.call(form, "/");
  if (!made) return std::unexpected(made.error());
  return path_in(*made);
}

}  // namespace

Result<std::unique_ptr<Queue>> open(const Options& options) {
  const aws::Environment environment = aws::process_environment();
  const std::string region =
      options.region.empty() ? aws::configured_region(environment) : options.region;
  if (region.empty()) {
    return failure(ErrorCode::invalid,
                   "sqs: no region; say sqs://QUEUE?region=REGION or set AWS_REGION");
  }
  auto client = aws::Client::open({.endpoint = options.endpoint.empty()
                                                   ? aws::endpoint_in(environment, "sqs", region)
                                                   : options.endpoint,
                                   .region = region,
                                   .service = "sqs",
                                   .credentials = aws::default_credentials()});
  if (!client) return std::unexpected(std::move(client.error()));
  auto service = std::make_unique<Service>(std::move(*client));
  Result<std::optional<std::string>> path = find(*service, options.queue);
  if (!path) return std::unexpected(std::move(path.error()));
  if (!*path) return failure(ErrorCode::invalid, "sqs: there is no queue " + options.queue);
  Result<std::string> dead = find_or_make(*service, dead_name(options));
  if (!dead) return std::unexpected(std::move(dead.error()));
  return std::make_unique<SqsQueue>(std::move(service), options, std::move(**path),
                                    std::move(*dead));
}

}  // namespace once::sqs

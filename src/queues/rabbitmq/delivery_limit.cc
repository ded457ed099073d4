#include "queues/rabbitmq/delivery_limit.h"

#include <charconv>
#include <memory>
#include <utility>

namespace once::rabbitmq {
namespace {

constexpr int kMostArguments = 16;
constexpr std::int64_t kUsualLimit = 20;  // Of quorum queues, from version 4 on.
constexpr const char* kLimit = "x-delivery-limit";
constexpr const char* kDeadLetterExchange = "x-dead-letter-exchange";

// What is between `before` and the next quotation mark.
std::optional<std::string_view> quoted_after(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  const std::size_t end = text.find('\'');
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(0, end);
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = std::to_address(text.end());
  const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, number);
  return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

std::optional<ArgumentValue> value_of(std::string_view text, std::string_view type) {
  if (type == "longstr") return ArgumentValue(std::string(text));
  if (type == "bool") return ArgumentValue(text == "true");
  if (const std::optional<std::int64_t> number = number_of(text)) return ArgumentValue(*number);
  return std::nullopt;
}

// `value` must outlive it.
amqp_field_value_t field_of(const ArgumentValue& value) {
  amqp_field_value_t field{};
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    field.kind = AMQP_FIELD_KIND_I64;
    field.value.i64 = *number;
  } else if (const auto* flag = std::get_if<bool>(&value)) {
    field.kind = AMQP_FIELD_KIND_BOOLEAN;
    field.value.boolean = *flag ? 1 : 0;
  } else {
    field.kind = AMQP_FIELD_KIND_UTF8;
    field.value.bytes = bytes_of(std::get<std::string>(value));
  }
  return field;
}

Result<void> declare(Connection& connection, const std::string& queue, const Arguments& arguments) {
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, value] : arguments) {
    entries.push_back({.key = bytes_of(name), .value = field_of(value)});
  }
  const amqp_table_t table{.num_entries = static_cast<int>(entries.size()),
                           .entries = entries.data()};
  constexpr amqp_boolean_t kDurable = 1;
  (void)amqp_queue_declare(connection.state(), kChannel, bytes_of(queue), 0, kDurable, 0, 0, table);
  return connection.reply();
}

}  // namespace

std::optional<Arguments::value_type> argument_in(std::string_view refusal) {
  const auto name = quoted_after(refusal, "inequivalent arg '");
  const auto value = quoted_after(refusal, "current is the value '");
  const auto type = quoted_after(refusal, "of type '");
  if (!name || !value || !type) return std::nullopt;
  std::optional<ArgumentValue> read = value_of(*value, *type);
  if (!read) return std::nullopt;
  return Arguments::value_type(*name, std::move(*read));
}

std::optional<std::string> limit_warning(const Arguments& arguments, std::string_view version) {
  if (arguments.contains(kDeadLetterExchange)) return std::nullopt;
  const std::int64_t major = number_of(version.substr(0, version.find('.'))).value_or(0);
  std::int64_t limit = major >= 4 ? kUsualLimit : -1;
  if (const auto found = arguments.find(kLimit); found != arguments.end()) {
    if (const auto* number = std::get_if<std::int64_t>(&found->second)) limit = *number;
  }
  if (limit < 0) return std::nullopt;
  return "the broker drops a message that was delivered more than " + std::to_string(limit) +
         " times, unless a policy says otherwise: the queue has a delivery limit and no "
         "dead-letter exchange";
}

Result<std::vector<std::string>> limit_warnings(const Options& options) {
  Arguments arguments = {{"x-queue-type", std::string("quorum")}};
  for (int tries = 0; tries < kMostArguments; ++tries) {
    // The broker closes the channel with each refusal.
    const Result<std::unique_ptr<Connection>> connection = Connection::open(options);
    if (!connection) return std::unexpected(connection.error());
    const Result<void> same = declare(**connection, options.queue, arguments);
    if (same) {
      const auto warning = limit_warning(arguments, (*connection)->server_version());
      return warning ? std::vector<std::string>{*warning} : std::vector<std::string>();
    }
    if (is_transient(same)) return std::unexpected(same.error());
    const auto differs = argument_in(same.error().message);
    if (!differs || !arguments.insert(*differs).second) break;
  }
  return std::vector<std::string>();
}

}  // namespace once::rabbitmq

#include "stores/redis/reader.h"

#include <utility>

#include "stores/redis/names.h"
#include "stores/redis/record.h"
#include "stores/redis/scripts.h"

namespace once::redis {
namespace {

Command reading_of(const Key& key) {
  const std::string name = name_of(key);
  Command command{.slot = slot_of(key.partition.home), .reads = true};
  if (key.sort == 0) {
    command.bytes = text_of({"GET", name});
    return command;
  }
  const std::string from = "[" + digits_of(key.sort);
  const std::string to = "(" + digits_of(key.sort) + '\xff';
  command.bytes = text_of({"ZRANGEBYLEX", name, from, to, "LIMIT", "0", "1"});
  return command;
}

Result<std::optional<Item>> item_in(const Key& key, ReplyView reply, Time now) {
  if (reply.is_nil() || (key.sort != 0 && reply.is_list() && reply.size() == 0)) {
    return std::nullopt;
  }
  std::string_view record = reply.text();
  if (key.sort != 0 && reply.size() == 1) {
    record = reply[0].text();
    record.remove_prefix(std::min(record.size(), kSortDigits));
  } else if (reply.is_error() || reply.is_list()) {
    return std::unexpected(reading_error_of(reply));
  }
  Result<Item> item = decode_record(name_of(key), digits_of(key.sort), record);
  if (!item) return std::unexpected(std::move(item.error()));
  if (expired(*item, now)) return std::nullopt;
  return std::move(*item);
}

Command scan_command(const ScanRequest& request, Time now) {
  const Partition& partition = request.partition;
  return {.bytes = text_of({"EVALSHA", scan_script().digest, "2", string_name(partition),
                            set_name(partition), std::to_string(now.time_since_epoch().count()),
                            digits_of(request.first), digits_of(request.last),
                            std::to_string(request.limit), std::to_string(request.max_bytes),
                            request.direction == Direction::ascending ? "up" : "down"}),
          .slot = slot_of(partition.home),
          .reads = true};
}

Result<Entry> entry_in(const Partition& partition, std::string_view member) {
  const std::string_view digits = member.substr(0, kSortDigits);
  const std::optional<std::int64_t> sort = sort_in(digits);
  if (!sort) {
    return failure(ErrorCode::corrupt, "a stored item fails its checks: " + set_name(partition));
  }
  const std::string name = name_of({partition, *sort});
  Result<Item> item = decode_record(name, digits, member.substr(kSortDigits));
  if (!item) return std::unexpected(std::move(item.error()));
  return Entry{*sort, std::move(*item)};
}

}  // namespace

Error reading_failure(Error error) {
  if (error.code == ErrorCode::unknown) error.code = ErrorCode::unavailable;
  return error;
}

Result<std::vector<std::optional<Item>>> read_items(const Reading& reading,
                                                    std::span<const Key> keys) {
  std::vector<Command> commands;
  commands.reserve(keys.size());
  for (const Key& key : keys) commands.push_back(reading_of(key));
  const std::vector<Result<Reply>> replies = reading.router.run(commands, reading.deadline);
  const Time now = reading.time.now();
  std::vector<std::optional<Item>> items;
  items.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!replies[i]) return std::unexpected(reading_failure(replies[i].error()));
    Result<std::optional<Item>> item = item_in(keys[i], **replies[i], now);
    if (!item) return std::unexpected(std::move(item.error()));
    items.push_back(std::move(*item));
  }
  return items;
}

Result<ScanPage> read_scan(const Reading& reading, const ScanRequest& request) {
  ScanPage page;
  if (request.first > request.last) return page;
  const Time sent = reading.time.own();
  const Command command = scan_command(request, reading.time.now());
  const Result<Reply> reply = reading.router.run(command, reading.deadline);
  if (!reply) return std::unexpected(reading_failure(reply.error()));
  const ReplyView view = **reply;
  if (view.size() < 2) return std::unexpected(reading_error_of(view));
  page.more = view[0].integer() == 1;
  if (const auto server = view[1].integer()) {
    reading.time.learn(sent, reading.time.own(), Time(Duration(*server)));
  }
  for (std::size_t i = 2; i < view.size(); ++i) {
    Result<Entry> entry = entry_in(request.partition, view[i].text());
    if (!entry) return std::unexpected(std::move(entry.error()));
    page.entries.push_back(std::move(*entry));
  }
  return page;
}

}  // namespace once::redis

#include "stores/redis/reader.h"

#include <algorithm>
#include <utility>

#include "stores/redis/scripts.h"
#include "stores/redis/stored_form.h"

namespace once::redis {
namespace {

// How large items are is known when they are here: the first of many tell how many of the rest to
// ask for at once.
constexpr std::size_t kFirstPiece = 128;
constexpr std::size_t kLargestPiece = 4'096;
constexpr std::size_t kReadAtOnce = 8U << 20;

// What one script passes over before it lets others have their turn.
constexpr std::string_view kMostPassed = "10000";
constexpr std::string_view kMostPassedBytes = "8388608";

Command reading_of(const Key& key) {
  const std::string name = name_of(key);
  Command command{
      .slot = slot_of(key.partition.home), .reads = true, .operation = StoreOperation::get};
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

std::size_t value_bytes(const Value& value) {
  const Bytes* const bytes = std::get_if<Bytes>(&value);
  return bytes == nullptr ? sizeof(std::int64_t) : bytes->size();
}

Command scan_command(const ScanRequest& request, Time now) {
  const Partition& partition = request.partition;
  const std::string set = set_name(partition);
  const std::string string = request.first == 0 ? string_name(partition) : std::string();
  CommandText text(string.empty() ? 12 : 13);
  text.part("EVALSHA").part(scan_script().digest).part(string.empty() ? "1" : "2").part(set);
  if (!string.empty()) text.part(string);
  text.part(std::to_string(now.time_since_epoch().count()));
  text.part(digits_of(request.first)).part(digits_of(request.last));
  text.part(std::to_string(request.limit)).part(std::to_string(request.max_bytes));
  text.part(request.direction == Direction::ascending ? "up" : "down");
  text.part(kMostPassed).part(kMostPassedBytes);
  return {.bytes = text.take(),
          .slot = slot_of(partition.home),
          .reads = true,
          .operation = StoreOperation::scan};
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

// Appends to `items`, and says how many bytes of values these are.
Result<std::size_t> read_piece(const ReadContext& context, std::span<const Key> keys,
                               std::vector<std::optional<Item>>& items) {
  std::vector<Command> commands;
  commands.reserve(keys.size());
  for (const Key& key : keys) commands.push_back(reading_of(key));
  const std::vector<Result<Reply>> replies = context.router.run(commands, context.deadline);
  const Time now = context.time.now();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!replies[i]) return std::unexpected(reading_failure(replies[i].error()));
    Result<std::optional<Item>> item = item_in(keys[i], **replies[i], now);
    if (!item) return std::unexpected(std::move(item.error()));
    if (*item) bytes += value_bytes((*item)->value);
    items.push_back(std::move(*item));
  }
  return bytes;
}

// Adds to the page, and takes that off what `rest` allows. Where to go on, if there is more to do
// for the page.
Result<std::optional<std::int64_t>> scan_some(const ReadContext& context, ScanRequest& rest,
                                              ScanPage& page) {
  constexpr std::size_t kHead = 3;  // How it ended, the server's time, and where.
  constexpr std::int64_t kCut = 1;
  constexpr std::int64_t kPaused = 2;
  const Time sent = context.time.own();
  const Command command = scan_command(rest, context.time.now());
  const Result<Reply> reply = context.router.run(command, context.deadline);
  if (!reply) return std::unexpected(reading_failure(reply.error()));
  const ReplyView view = **reply;
  if (view.size() < kHead) return std::unexpected(reading_error_of(view));
  if (const auto server = view[1].integer()) {
    context.time.learn(sent, context.time.own(), Time(Duration(*server)));
  }
  for (std::size_t i = kHead; i < view.size(); ++i) {
    Result<Entry> entry = entry_in(rest.partition, view[i].text());
    if (!entry) return std::unexpected(std::move(entry.error()));
    const std::size_t bytes = value_bytes(entry->item.value);
    rest.max_bytes -= std::min(bytes, rest.max_bytes);
    --rest.limit;
    page.entries.push_back(std::move(*entry));
  }
  page.more = view[0].integer() == kCut;
  if (view[0].integer() != kPaused) return std::nullopt;
  const std::optional<std::int64_t> reached = sort_in(view[2].text());
  if (!reached) {
    return failure(ErrorCode::corrupt,
                   "a stored item fails its checks: " + set_name(rest.partition));
  }
  // Full, with the last that fitted just before it paused.
  page.more = rest.limit == 0 || rest.max_bytes == 0;
  return page.more ? std::nullopt : reached;
}

}  // namespace

Error reading_failure(Error error) {
  if (error.code == ErrorCode::unknown) error.code = ErrorCode::unavailable;
  return error;
}

Result<std::vector<std::optional<Item>>> read_items(const ReadContext& context,
                                                    std::span<const Key> keys) {
  std::vector<std::optional<Item>> items;
  items.reserve(keys.size());
  std::size_t piece = kFirstPiece;
  while (!keys.empty()) {
    const std::span<const Key> some = keys.first(std::min(piece, keys.size()));
    const Result<std::size_t> bytes = read_piece(context, some, items);
    if (!bytes) return std::unexpected(bytes.error());
    const std::size_t each = std::max<std::size_t>(*bytes / some.size(), 1);
    piece = std::clamp<std::size_t>(kReadAtOnce / each, 1, kLargestPiece);
    keys = keys.subspan(some.size());
  }
  return items;
}

Result<ScanPage> read_scan(const ReadContext& context, const ScanRequest& request) {
  ScanPage page;
  ScanRequest rest = request;
  while (rest.first <= rest.last) {
    Result<std::optional<std::int64_t>> reached = scan_some(context, rest, page);
    if (!reached) return std::unexpected(std::move(reached.error()));
    if (!*reached) break;
    const bool up = request.direction == Direction::ascending;
    if (**reached == (up ? rest.last : rest.first)) break;
    (up ? rest.first : rest.last) = **reached + (up ? 1 : -1);
  }
  return page;
}

}  // namespace once::redis

#include "stores/redis/walk.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "stores/redis/scan_route.h"
#include "stores/redis/stored_form.h"

namespace once::redis {
namespace {

constexpr std::size_t kPageBytes = 4U << 20;
constexpr std::size_t kFewStrings = 8;  // While it is not known how large they are.
constexpr std::size_t kManyStrings = 64;
constexpr std::size_t kSmallPiece = 256U << 10;
constexpr int kBatchesPerPage = 100;
// What of a batch has been read is in the cursor, which must fit into the head of an HTTP request.
constexpr std::size_t kLargestBatch = 100;
constexpr std::size_t kFixedFields = 5;
constexpr std::size_t kMostDone = 10'000;

std::uint64_t hash_of(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

std::optional<std::uint64_t> take_number(std::string_view& text) {
  const std::string_view field = text.substr(0, text.find('.'));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  std::uint64_t number = 0;
  const char* const end = std::to_address(field.end());
  const auto [stopped, error] = std::from_chars(std::to_address(field.begin()), end, number, 16);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

// A page as it fills.
class Walk {
 public:
  Walk(const ReadContext& context, const ListRequest& request, ScanRoute route, Place place)
      : context_(context), request_(request), route_(std::move(route)), place_(std::move(place)) {}

  Result<ListPage> page() {
    for (int batches = 0; batches < kBatchesPerPage && !full(); ++batches) {
      Result<bool> more = take_batch();
      if (!more) return std::unexpected(std::move(more.error()));
      if (!*more) return finish();
    }
    page_.cursor = to_cursor(place_);
    return std::move(page_);
  }

 private:
  // A slot that moved while this page was read may have moved behind the walk.
  Result<ListPage> finish() {
    if (!context_.router.is_cluster()) return std::move(page_);
    Result<ScanRoute> route = learn_scan_route(context_);
    if (!route) return std::unexpected(std::move(route.error()));
    if (route->state != route_.state) page_.cursor = to_cursor({.state = route->state});
    return std::move(page_);
  }

  bool full() const { return examined_ >= request_.limit || bytes_ >= kPageBytes; }

  // Whether there is more to walk.
  Result<bool> take_batch() {
    if (place_.server >= route_.stops.size()) return false;
    const ScanStop& stop = route_.stops[place_.server];
    const std::size_t count = std::clamp<std::size_t>(request_.limit, 10, kLargestBatch);
    Result<Batch> batch = scan_server(context_, stop.server, place_.scan,
                                      pattern_of(request_.home_prefix), "", count);
    if (!batch) return std::unexpected(std::move(batch.error()));
    std::vector<std::string> strings;
    for (std::string& name : batch->names) {
      const std::optional<Name> parsed = parse_name(name);
      if (!parsed || is_done(name) || is_passed_by(stop, parsed->partition)) continue;
      if (!parsed->is_set) {
        strings.push_back(std::move(name));
        continue;
      }
      if (full()) return true;
      Result<bool> finished = take_set(name, parsed->partition);
      if (!finished || !*finished) return finished ? Result<bool>(true) : finished;
    }
    Result<bool> finished = take_strings(strings);
    if (!finished || !*finished) return finished ? Result<bool>(true) : finished;
    return advance(batch->next);
  }

  bool is_done(std::string_view name) const {
    return std::ranges::find(place_.done, hash_of(name)) != place_.done.end();
  }

  static bool is_passed_by(const ScanStop& stop, const Partition& partition) {
    return !stop.only.empty() &&
           std::ranges::find(stop.only, slot_of(partition.home)) == stop.only.end();
  }

  Result<bool> advance(std::uint64_t next) {
    place_.done.clear();
    place_.scan = next;
    if (next == 0) ++place_.server;
    return place_.server < route_.stops.size();
  }

  // Whether all of it was read.
  Result<bool> take_set(std::string_view name, const Partition& partition) {
    const std::uint64_t hash = hash_of(name);
    const std::int64_t after = place_.within == hash ? place_.after : 0;
    Result<ScanPage> found =
        read_scan(context_, {.partition = partition,
                             .first = after + 1,
                             .limit = request_.limit - examined_,
                             .max_bytes = kPageBytes - std::min(bytes_, kPageBytes - 1)});
    if (!found) return std::unexpected(std::move(found.error()));
    examined_ += std::max<std::size_t>(found->entries.size(), 1);
    for (Entry& entry : found->entries) {
      place_.within = hash;
      place_.after = entry.sort;
      add({partition, entry.sort}, std::move(entry.item));
    }
    if (found->more) return false;
    place_.within = 0;
    place_.after = 0;
    place_.done.push_back(hash);
    return true;
  }

  // Whether all of them were read.
  Result<bool> take_strings(std::span<const std::string> names) {
    while (!names.empty()) {
      if (full()) return false;
      const std::size_t some = std::min({names.size(), at_once_, request_.limit - examined_});
      const std::size_t before = bytes_;
      if (Result<void> taken = take_some(names.first(some)); !taken) {
        return std::unexpected(std::move(taken.error()));
      }
      at_once_ = bytes_ - before < kSmallPiece ? std::min(2 * at_once_, kManyStrings) : 1;
      names = names.subspan(some);
    }
    return true;
  }

  Result<void> take_some(std::span<const std::string> names) {
    std::vector<Key> keys;
    for (const std::string& name : names) keys.push_back({parse_name(name)->partition, 0});
    Result<std::vector<std::optional<Item>>> items = read_items(context_, keys);
    if (!items) return std::unexpected(std::move(items.error()));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ++examined_;
      place_.done.push_back(hash_of(names[i]));
      if ((*items)[i]) add(std::move(keys[i]), std::move(*(*items)[i]));
    }
    return {};
  }

  void add(Key key, Item item) {
    if (const Bytes* const value = std::get_if<Bytes>(&item.value)) bytes_ += value->size();
    page_.items.push_back({std::move(key), std::move(item)});
  }

  const ReadContext& context_;
  const ListRequest& request_;
  const ScanRoute route_;
  Place place_;
  ListPage page_;
  std::size_t examined_ = 0;
  std::size_t bytes_ = 0;
  std::size_t at_once_ = kFewStrings;  // Strings to ask for.
};

}  // namespace

std::string to_cursor(const Place& place) {
  std::string text;
  const auto append = [&](std::uint64_t number) {
    std::array<char, kSortDigits> digits{};
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), number, 16);
    if (!text.empty()) text += '.';
    text.append(digits.begin(), end);
  };
  append(place.state);
  append(place.server);
  append(place.scan);
  append(place.within);
  append(static_cast<std::uint64_t>(place.after));
  for (const std::uint64_t hash : place.done) append(hash);
  return text;
}

std::optional<Place> parse_cursor(std::string_view cursor) {
  std::array<std::uint64_t, kFixedFields> fields{};
  for (std::uint64_t& field : fields) {
    const std::optional<std::uint64_t> number = take_number(cursor);
    if (!number) return std::nullopt;
    field = *number;
  }
  Place place{fields[0], fields[1], fields[2], fields[3], static_cast<std::int64_t>(fields[4]), {}};
  if (place.after < 0 || place.after == INT64_MAX) return std::nullopt;
  while (!cursor.empty()) {
    const std::optional<std::uint64_t> hash = take_number(cursor);
    if (!hash || place.done.size() == kMostDone) return std::nullopt;
    place.done.push_back(*hash);
  }
  return place;
}

Result<ListPage> read_list(const ReadContext& context, const ListRequest& request) {
  Result<ScanRoute> route = learn_scan_route(context);
  if (!route) return std::unexpected(std::move(route.error()));
  Place place{.state = route->state};
  if (!request.cursor.empty()) {
    std::optional<Place> given = parse_cursor(request.cursor);
    if (!given) return failure(ErrorCode::invalid, "not a cursor of this store");
    if (given->state == route->state) place = std::move(*given);
  }
  return Walk(context, request, std::move(*route), std::move(place)).page();
}

Result<Batch> scan_server(const ReadContext& context, const Endpoint& server, std::uint64_t at,
                          std::string_view pattern, std::string_view type, std::size_t count) {
  const std::string cursor = std::to_string(at);
  const std::string many = std::to_string(count);
  const std::string command =
      type.empty() ? text_of({"SCAN", cursor, "MATCH", pattern, "COUNT", many})
                   : text_of({"SCAN", cursor, "MATCH", pattern, "COUNT", many, "TYPE", type});
  const Result<Reply> reply =
      context.router.run_at(server, command, context.deadline, StoreOperation::list);
  if (!reply) return std::unexpected(reading_failure(reply.error()));
  const ReplyView view = **reply;
  if (view.size() != 2) return std::unexpected(reading_error_of(view));
  Batch batch;
  const std::string_view next = view[0].text();
  const auto [stopped, error] =
      std::from_chars(std::to_address(next.begin()), std::to_address(next.end()), batch.next);
  if (error != std::errc()) return std::unexpected(reading_error_of(view));
  for (std::size_t i = 0; i < view[1].size(); ++i) batch.names.emplace_back(view[1][i].text());
  return batch;
}

}  // namespace once::redis

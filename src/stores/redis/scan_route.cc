#include "stores/redis/scan_route.h"

#include <xxhash.h>

#include <charconv>
#include <string>
#include <utility>

#include "stores/redis/protocol.h"

namespace once::redis {
namespace {

constexpr std::uint16_t kMostSlot = 16'383;

std::string_view take_until(std::string_view& text, char border) {
  const std::size_t at = text.find(border);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return taken;
}

// Of "[93-<-id]", a slot that is taken in.
std::optional<std::uint16_t> taken_in(std::string_view word) {
  const std::size_t border = word.find("-<-");
  if (!word.starts_with('[') || border == std::string_view::npos) return std::nullopt;
  const std::string_view digits = word.substr(1, border - 1);
  const char* const end = std::to_address(digits.end());
  std::uint16_t slot = 0;
  const auto [stopped, error] = std::from_chars(std::to_address(digits.begin()), end, slot);
  if (error != std::errc() || stopped != end || slot > kMostSlot) return std::nullopt;
  return slot;
}

// id address flags master ping pong epoch link slots...
OwnSlots own_slots_of(std::string_view line) {
  constexpr int kFieldsBeforeEpoch = 6;
  for (int i = 0; i < kFieldsBeforeEpoch; ++i) take_until(line, ' ');
  // A slot that went away and came back has raised it.
  std::string said(take_until(line, ' '));
  take_until(line, ' ');
  OwnSlots own;
  while (!line.empty()) {
    const std::string_view word = take_until(line, ' ');
    if (!word.starts_with('[')) continue;
    said.append(word);
    if (const auto slot = taken_in(word)) own.taken_in.push_back(*slot);
  }
  own.state = XXH3_64bits(said.data(), said.size());
  return own;
}

Result<OwnSlots> ask(const ReadContext& context, const Endpoint& server) {
  static const std::string command = text_of({"CLUSTER", "NODES"});
  const Result<Reply> reply = context.router.run_at(server, command, context.deadline);
  if (!reply) return std::unexpected(reading_failure(reply.error()));
  std::optional<OwnSlots> own = own_slots_in((**reply).text());
  if (!own || (**reply).is_error()) return std::unexpected(reading_error_of(**reply));
  return std::move(*own);
}

}  // namespace

std::optional<OwnSlots> own_slots_in(std::string_view nodes) {
  while (!nodes.empty()) {
    const std::string_view line = take_until(nodes, '\n');
    std::string_view rest = line;
    take_until(rest, ' ');
    take_until(rest, ' ');
    std::string_view flags = take_until(rest, ' ');
    while (!flags.empty()) {
      if (take_until(flags, ',') == "myself") return own_slots_of(line);
    }
  }
  return std::nullopt;
}

Result<ScanRoute> learn_scan_route(const ReadContext& context) {
  Result<Router::Map> map = context.router.learn_map(context.deadline);
  if (!map) return std::unexpected(std::move(map.error()));
  ScanRoute route{.state = map->state};
  for (const Endpoint& server : map->servers) route.stops.push_back({server, {}});
  if (!context.router.is_cluster()) return route;
  for (const Endpoint& server : map->servers) {
    Result<OwnSlots> own = ask(context, server);
    if (!own) return std::unexpected(std::move(own.error()));
    constexpr std::uint64_t kPrime = 1'099'511'628'211U;
    route.state = (route.state ^ own->state) * kPrime;
    if (!own->taken_in.empty()) route.stops.push_back({server, std::move(own->taken_in)});
  }
  return route;
}

}  // namespace once::redis

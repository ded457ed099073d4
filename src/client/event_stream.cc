#include "client/event_stream.h"

#include <utility>

namespace once::client {

std::optional<ServerEvent> EventStream::take(std::string_view line) {
  if (line.empty()) {
    if (!data_) return std::nullopt;
    return ServerEvent{id_, *std::exchange(data_, std::nullopt)};
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") id_ = value;
  if (field == "data") data_ = data_ ? (*data_ + '\n').append(value) : std::string(value);
  return std::nullopt;
}

}  // namespace once::client

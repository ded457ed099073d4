// Parses server-sent events (HTML standard) line by line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace once::client {

struct ServerEvent {
  std::string id;  // Of this event, or of the last event that had one.
  std::string data;
};

class EventStream {
 public:
  // The event that this line completes. Comments and fields other than `id` and `data` are
  // ignored.
  std::optional<ServerEvent> take(std::string_view line);

 private:
  std::string id_;
  std::optional<std::string> data_;
};

}  // namespace once::client

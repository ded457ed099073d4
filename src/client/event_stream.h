// Server-sent events, as the HTML standard has them, from their lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace once::client {

struct ServerEvent {
  std::string id;  // Of this event, or of the last one that had any.
  std::string data;
};

class EventStream {
 public:
  // The event that this line completes. Comments, and fields that we have no use for, are passed
  // over.
  std::optional<ServerEvent> take(std::string_view line);

 private:
  std::string id_;
  std::optional<std::string> data_;
};

}  // namespace once::client

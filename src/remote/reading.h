// What a server answered, field by field. A field that is not there, or is something else, makes it
// an answer that this program does not understand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "api/message.h"

namespace once::remote {

// `unknown`, because whatever was asked for may have been done.
std::unexpected<Error> misunderstanding();

class Reading {
 public:
  // It and what is taken from it live until the same thread reads another.
  explicit Reading(const api::Response& response);
  explicit Reading(api::Json value) : value_(value) {}

  std::string text(std::string_view name);
  Bytes data(std::string_view name);
  std::int64_t integer(std::string_view name);
  double number(std::string_view name);
  Time time(std::string_view name);
  std::optional<api::Json> any(std::string_view name);  // Nothing if it is not there, or null.
  std::vector<api::Json> array(std::string_view name);

  Result<void> finish() const;
  void misunderstood() { sound_ = false; }
  bool sound() const { return sound_; }

 private:
  std::optional<api::Json> value_;
  bool sound_ = true;
};

}  // namespace once::remote

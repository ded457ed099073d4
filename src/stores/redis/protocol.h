// A command as it goes over the wire, what the server answers to it, and what its errors mean.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/error.h"
#include "once/store_units.h"

namespace once::redis {

struct Command {
  std::string bytes;
  std::uint16_t slot = 0;  // Of its keys, on a cluster.
  bool reads = false;      // May be performed before or after others, and again.
  StoreOperation operation = StoreOperation::other;  // What it is counted as.
};

// The parts of a command, one by one.
class CommandText {
 public:
  explicit CommandText(std::size_t parts) { number('*', parts); }

  CommandText& part(std::string_view text) {
    number('$', text.size());
    bytes_.append(text).append("\r\n");
    return *this;
  }

  std::string take() { return std::move(bytes_); }

 private:
  void number(char kind, std::size_t value) {
    bytes_ += kind;
    bytes_.append(std::to_string(value)).append("\r\n");
  }

  std::string bytes_;
};

inline std::string text_of(std::initializer_list<std::string_view> parts) {
  CommandText text(parts.size());
  for (const std::string_view part : parts) text.part(part);
  return text.take();
}

// A view into a Reply.
class ReplyView {
 public:
  explicit ReplyView(const redisReply* reply) : reply_(reply) {}

  bool is_nil() const { return reply_->type == REDIS_REPLY_NIL; }
  bool is_error() const { return reply_->type == REDIS_REPLY_ERROR; }
  bool is_list() const { return reply_->type == REDIS_REPLY_ARRAY; }
  bool is_ok() const { return reply_->type == REDIS_REPLY_STATUS; }

  // Of strings, states and errors; otherwise empty.
  std::string_view text() const;
  std::optional<std::int64_t> integer() const;

  std::size_t size() const { return is_list() ? reply_->elements : 0; }
  ReplyView operator[](std::size_t i) const { return ReplyView(reply_->element[i]); }

 private:
  const redisReply* reply_;
};

class Reply {
 public:
  explicit Reply(redisReply* reply) : reply_(reply) {}
  ReplyView operator*() const { return ReplyView(reply_.get()); }

 private:
  struct Free {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  std::unique_ptr<redisReply, Free> reply_;
};

// What a cluster, or a server that does not know our scripts, wants the client to do.
struct Redirect {
  enum class Kind : std::uint8_t { none, load_scripts, moved, ask };
  Kind kind = Kind::none;
  std::string host;  // Empty: the one that was asked.
  std::uint16_t port = 0;
};
Redirect redirect_of(ReplyView reply);

// Whether it was refused because the server is a replica.
bool is_replicas(ReplyView reply);

// Of an error that the server answered. `unknown` for one that we do not know: it may come from the
// middle of something.
Error error_of(ReplyView reply);

// Of one to a reading, or of anything that is not the answer it should be.
Error reading_error_of(ReplyView reply);

}  // namespace once::redis

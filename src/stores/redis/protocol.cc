#include "stores/redis/protocol.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace once::redis {
namespace {

// The server's names for what it refuses before it does anything.
constexpr std::array<std::pair<std::string_view, ErrorCode>, 17> kRefusals = {{
    {"NOAUTH", ErrorCode::denied},
    {"WRONGPASS", ErrorCode::denied},
    {"NOPERM", ErrorCode::denied},
    {"DENIED", ErrorCode::denied},
    {"LOADING", ErrorCode::unavailable},
    {"BUSY", ErrorCode::unavailable},
    {"READONLY", ErrorCode::unavailable},
    {"MASTERDOWN", ErrorCode::unavailable},
    {"NOREPLICAS", ErrorCode::unavailable},
    {"OOM", ErrorCode::unavailable},
    {"MISCONF", ErrorCode::unavailable},
    {"CLUSTERDOWN", ErrorCode::unavailable},
    {"TRYAGAIN", ErrorCode::unavailable},
    {"MOVED", ErrorCode::unavailable},
    {"ASK", ErrorCode::unavailable},
    {"NOSCRIPT", ErrorCode::unavailable},
    {"CROSSSLOT", ErrorCode::unsupported},
}};

// Another program's data under one of our names.
constexpr std::string_view kForeign = "WRONGTYPE";

// A key that is not here while its slot moves. Said by a script's reading, before it writes.
constexpr std::string_view kElsewhere = "Script attempted to access a non local key";

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

Error error_as(ErrorCode code, std::string_view text) {
  std::string message = "redis: ";
  return {code, message.append(text)};
}

}  // namespace

std::string_view ReplyView::text() const {
  const bool has_text = reply_->type == REDIS_REPLY_STRING || reply_->type == REDIS_REPLY_STATUS ||
                        reply_->type == REDIS_REPLY_ERROR;
  return has_text ? std::string_view(reply_->str, static_cast<std::size_t>(reply_->len))
                  : std::string_view();
}

std::optional<std::int64_t> ReplyView::integer() const {
  if (reply_->type != REDIS_REPLY_INTEGER) return std::nullopt;
  return reply_->integer;
}

// MOVED 3999 127.0.0.1:6381
Redirect redirect_of(ReplyView reply) {
  if (!reply.is_error()) return {};
  const std::string_view text = reply.text();
  const std::string_view word = first_word(text);
  if (word == "NOSCRIPT") return {.kind = Redirect::Kind::load_scripts};
  if (word != "MOVED" && word != "ASK") return {};
  const std::string_view place = text.substr(text.rfind(' ') + 1);
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return {};
  Redirect redirect{.kind = word == "ASK" ? Redirect::Kind::ask : Redirect::Kind::moved,
                    .host = std::string(place.substr(0, colon))};
  const std::string_view port = place.substr(colon + 1);
  const auto [stopped, error] =
      std::from_chars(std::to_address(port.begin()), std::to_address(port.end()), redirect.port);
  return error == std::errc() ? redirect : Redirect{};
}

bool is_replicas(ReplyView reply) {
  return reply.is_error() && first_word(reply.text()) == "READONLY";
}

Error error_of(ReplyView reply) {
  const std::string_view text = reply.text();
  const std::string_view word = first_word(text);
  const auto* const known =
      std::ranges::find(kRefusals, word, &std::pair<std::string_view, ErrorCode>::first);
  if (known != kRefusals.end()) return error_as(known->second, text);
  if (word == kForeign) {
    return error_as(ErrorCode::corrupt, "a key of Once holds what Once did not write");
  }
  if (text.find(kElsewhere) != std::string_view::npos) {
    return error_as(ErrorCode::unavailable, "a slot is moving");
  }
  if (!reply.is_error()) return error_as(ErrorCode::unknown, "an answer of another form");
  return error_as(ErrorCode::unknown, text);
}

Error reading_error_of(ReplyView reply) {
  Error error = error_of(reply);
  if (error.code == ErrorCode::unknown) error.code = ErrorCode::unavailable;
  return error;
}

}  // namespace once::redis

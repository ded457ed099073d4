#include "queues/rabbitmq/address.h"

#include <charconv>
#include <memory>
#include <utility>

#include "base/encoding.h"
#include "queues/queue_kind.h"
#include "queues/rabbitmq/queue.h"

namespace once::rabbitmq {
namespace {

std::unexpected<Error> wrong() {
  return failure(ErrorCode::invalid,
                 "a queue's address is amqp://USER:PASSWORD@HOST:PORT/VHOST/QUEUE, or amqps://");
}

bool decode(std::string_view text, std::string& into) {
  std::optional<std::string> decoded = percent_decode(text);
  const bool good = decoded && !decoded->empty() && decoded->find('\0') == std::string::npos;
  if (good) into = std::move(*decoded);
  return good;
}

bool take_user(std::string_view text, Options& options) {
  const std::size_t colon = text.find(':');
  if (!decode(text.substr(0, colon), options.user)) return false;
  return colon == std::string_view::npos || decode(text.substr(colon + 1), options.password);
}

bool take_host(std::string_view text, Options& options) {
  constexpr int kMostPort = 65'535;
  const std::size_t colon = text.rfind(':');
  options.host = text.substr(0, colon);
  if (options.host.empty()) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view port = text.substr(colon + 1);
  const char* const end = std::to_address(port.end());
  const auto [stopped, error] = std::from_chars(std::to_address(port.begin()), end, options.port);
  return error == std::errc() && stopped == end && options.port > 0 && options.port <= kMostPort;
}

bool take_path(std::string_view text, Options& options) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return decode(text, options.queue);
  return decode(text.substr(0, slash), options.vhost) &&
         decode(text.substr(slash + 1), options.queue) &&
         text.find('/', slash + 1) == std::string_view::npos;
}

Result<void> set(Options& options, const std::string& name, const std::string& value) {
  if (name == "dead") {
    options.dead = value;
  } else if (name == "group") {
    options.group = value;
  } else if (name == "ca" && options.tls && !value.empty()) {
    options.ca_file = value;
  } else {
    return failure(
        ErrorCode::invalid,
        "amqp has the options dead and group, and amqps also ca (a file), not \"" + name + "\"");
  }
  return {};
}

}  // namespace

Result<Options> options_of(const Address& address) {
  std::string_view place = address.place;
  if (!place.starts_with("//")) return wrong();
  place.remove_prefix(2);
  const std::size_t path = place.find('/');
  if (path == std::string_view::npos) return wrong();
  std::string_view server = place.substr(0, path);
  constexpr int kTlsPort = 5671;
  Options options;
  options.tls = address.scheme == "amqps";
  if (options.tls) options.port = kTlsPort;
  const std::size_t at = server.rfind('@');
  if (at != std::string_view::npos && !take_user(server.substr(0, at), options)) return wrong();
  if (at != std::string_view::npos) server.remove_prefix(at + 1);
  if (!take_host(server, options) || !take_path(place.substr(path + 1), options)) return wrong();
  Result<void> ok = for_each_option(
      address, [&](const auto& name, const auto& value) { return set(options, name, value); });
  if (!ok) return std::unexpected(std::move(ok.error()));
  return options;
}

}  // namespace once::rabbitmq

namespace once {

QueueKind rabbitmq_queue_kind() {
  return {.scheme = "amqp",
          .other_scheme = "amqps",
          .example = "amqp://HOST/QUEUE or amqps://HOST/QUEUE",
          .open = [](const Address& address) -> Result<std::unique_ptr<Queue>> {
            Result<rabbitmq::Options> options = rabbitmq::options_of(address);
            if (!options) return std::unexpected(std::move(options.error()));
            return rabbitmq::open(std::move(*options));
          }};
}

}  // namespace once

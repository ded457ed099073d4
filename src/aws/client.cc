#include "aws/client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "aws/message.h"

namespace once::aws {
namespace {

bool visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
}

// The Host header for an endpoint, which is a scheme, a host and perhaps a port.
std::optional<std::string> host_of(std::string_view endpoint) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!endpoint.starts_with(scheme)) continue;
    std::string host(endpoint.substr(scheme.size()));
    if (host.empty() || !visible(host) || host.find_first_of("/?#@\\") != std::string::npos) break;
    return host;
  }
  return std::nullopt;
}

// A line break in a value would begin another header.
bool sendable(const Request& request) {
  const auto printable = [](std::string_view text) {
    return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  };
  return !request.method.empty() && visible(request.method) && request.path.starts_with('/') &&
         visible(request.path) && visible(request.query) &&
         std::ranges::all_of(request.headers, [&](const Header& header) {
           return !header.name.empty() && visible(header.name) && printable(header.value);
         });
}

}  // namespace

Result<std::unique_ptr<Client>> Client::open(ClientOptions options) {
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  std::optional<std::string> host = host_of(options.endpoint);
  if (!host) {
    return failure(ErrorCode::invalid,
                   "an endpoint is http or https://host[:port], not '" + options.endpoint + "'");
  }
  if (options.region.empty() || options.service.empty() || options.credentials == nullptr) {
    return failure(ErrorCode::invalid, "a client needs a region, a service and credentials");
  }
  if (options.connections < 1 || options.connections > 1'000) {
    return failure(ErrorCode::invalid, "a client has 1 to 1000 connections");
  }
  if (options.connect_timeout <= Duration(0)) {
    return failure(ErrorCode::invalid, "a connect timeout is at least 1 ms");
  }
  TransferOptions transfers{.connect_timeout = options.connect_timeout,
                            .connections = options.connections,
                            .response_limit = options.response_limit,
                            .ca_file = options.ca_file,
                            .may_use_proxy = options.endpoint.starts_with("https:")};
  return std::unique_ptr<Client>(
      new Client(std::move(options), std::move(*host), std::move(transfers)));
}

Client::Client(ClientOptions options, std::string host, TransferOptions transfers)
    : options_(std::move(options)),
      host_(std::move(host)),
      scope_{options_.region, options_.service},
      transfers_(std::move(transfers), *options_.clock) {}

Result<Response> Client::send(const Request& request, Deadline deadline) {
  return std::move(send(std::span(&request, 1), deadline).front());
}

std::vector<Result<Response>> Client::send(std::span<const Request> requests, Deadline deadline) {
  std::vector<Result<Response>> answers(
      requests.size(), failure(ErrorCode::invalid, "a request that is no HTTP: not sent"));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (sendable(requests[i])) places.push_back(i);
  }
  Offsets shown(requests.size());
  places = attempt(requests, places, shown, answers, deadline);
  if (!places.empty()) attempt(requests, places, shown, answers, deadline);
  return answers;
}

std::vector<std::size_t> Client::attempt(std::span<const Request> requests,
                                         const std::vector<std::size_t>& places, Offsets& shown,
                                         std::vector<Result<Response>>& answers,
                                         Deadline deadline) {
  const Result<Keys> keys = options_.credentials->keys(deadline);
  if (!keys) {
    for (const std::size_t place : places) answers[place] = std::unexpected(keys.error());
    return {};
  }
  std::vector<Transfer> transfers;
  for (const std::size_t place : places) {
    const Duration offset = shown[place].value_or(server_offset_.middle());
    transfers.push_back(signed_transfer(requests[place], *keys, offset));
  }
  transfers_.perform(transfers, deadline);
  std::vector<std::size_t> mistimed;
  std::vector<std::size_t> expired;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    Result<Response>& answer = answers[places[i]] = std::move(transfers[i].answer);
    if (!answer) continue;
    const std::optional<Duration> offset = learn_time(*answer, transfers[i]);
    if (answer->status < 400 || answer->status >= 500) continue;
    const ServiceError error = service_error(*answer);
    if (offset && wants_other_time(error)) {
      shown[places[i]] = offset;
      mistimed.push_back(places[i]);
    }
    if (wants_newer_keys(error)) expired.push_back(places[i]);
  }
  if (!expired.empty()) {
    options_.credentials->refused(*keys);
    const Result<Keys> newer = options_.credentials->keys(deadline);
    if (newer && *newer != *keys) mistimed.insert(mistimed.end(), expired.begin(), expired.end());
  }
  return mistimed;
}

Transfer Client::signed_transfer(const Request& request, const Keys& keys, Duration offset) const {
  const Time now = options_.clock->now() + offset;
  Transfer transfer{.method = request.method,
                    .url = options_.endpoint + request.path,
                    .headers = request.headers,
                    .body = request.body};
  if (!request.query.empty()) transfer.url.append("?").append(request.query);
  transfer.headers.push_back({"Host", host_});
  for (Header& header : sign(request, host_, keys, scope_, now)) {
    transfer.headers.push_back(std::move(header));
  }
  return transfer;
}

std::optional<Duration> Client::learn_time(const Response& response, const Transfer& transfer) {
  const std::string_view date = header_of(response.headers, "Date");
  const std::optional<Time> server = date.empty() ? std::nullopt : parse_date(date);
  if (!server) return std::nullopt;
  server_offset_.learn(*server, transfer.asked, transfer.answered);
  return *server - transfer.answered;
}

}  // namespace once::aws

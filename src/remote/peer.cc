#include "remote/peer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/data_form.h"
#include "api/text.h"
#include "primitives/keys.h"

namespace once::remote {
namespace {

constexpr Duration kOnTheWay = std::chrono::seconds(5);  // Beyond what the server may take.
constexpr Duration kFirstPause{50};
constexpr Duration kLongestPause{2'000};
constexpr std::size_t kMaxIdle = 16;  // Connections that are kept open.

struct Known {
  std::string_view code;
  ErrorCode error;
};

constexpr std::array kErrors = {
    Known{"invalid", ErrorCode::invalid},        Known{"precondition_required", ErrorCode::invalid},
    Known{"too_large", ErrorCode::too_large},    Known{"unauthorized", ErrorCode::denied},
    Known{"forbidden", ErrorCode::denied},       Known{"unsupported", ErrorCode::unsupported},
    Known{"overloaded", ErrorCode::unavailable}, Known{"unavailable", ErrorCode::unavailable},
    Known{"unknown", ErrorCode::unknown},        Known{"corrupt", ErrorCode::corrupt},
};

// Outcomes that are no success.
constexpr std::array<std::string_view, 6> kRefusals = {
    "busy", "mismatch", "fenced", "precondition_failed", "not_found", "contended"};

std::string member(const api::Response& response, std::string_view name) {
  const Result<api::Json> body = api::parse_json(response.body);
  std::string_view text;
  if (!body || (*body)[name].get(text) != simdjson::SUCCESS) return "";
  return std::string(text);
}

bool only_reads(const api::Request& request) { return request.method == "GET"; }

// Somebody on the way answered, or a server of another kind: what it did is anybody's guess.
ErrorCode guess(const api::Request& request, int status) {
  if (status == 401 || status == 403) return ErrorCode::denied;
  if (status == 413) return ErrorCode::too_large;
  if (status >= 400 && status < 500) return ErrorCode::invalid;
  return only_reads(request) ? ErrorCode::unavailable : ErrorCode::unknown;
}

bool is_lost(const Error& error) { return error.code == ErrorCode::unknown; }
bool may_pass(const Error& error) { return is_lost(error) || error.code == ErrorCode::unavailable; }

}  // namespace

std::string code_of(const api::Response& response) {
  return response.status >= 400 ? member(response, "code") : "";
}

bool is_replayed(const api::Response& response) {
  return response.headers.find("Idempotent-Replayed") == "true";
}

std::optional<Error> error_in(const api::Request& request, const api::Response& response) {
  if (response.status >= 200 && response.status < 300) return std::nullopt;
  const std::string code = code_of(response);
  if (std::ranges::find(kRefusals, code) != kRefusals.end()) return std::nullopt;
  const auto* const known = std::ranges::find(kErrors, code, &Known::code);
  if (known != kErrors.end()) return Error{known->error, member(response, "detail")};
  return Error{guess(request, response.status),
               "the server answered " + std::to_string(response.status)};
}

Peer::Peer(std::string url, std::string token, std::string name_space, Clock& clock,
           Entropy& entropy)
    : url_(std::move(url)),
      token_(std::move(token)),
      name_space_(std::move(name_space)),
      clock_(clock),
      entropy_(entropy) {}

// A connection is one caller's at a time.
Result<api::Response> Peer::send(const api::Request& request, Duration timeout) {
  std::unique_ptr<client::HttpClient> client;
  {
    const Lock lock(mutex_);
    if (!idle_.empty()) {
      client = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (client == nullptr) client = std::make_unique<client::HttpClient>(url_, token_);
  Result<api::Response> answer = client->call(request, timeout);
  const Lock lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(client));
  return answer;
}

Result<Told> Peer::ask(const api::Request& request, Repeat repeat, Duration patience) {
  const Time until = later(clock_.now(), patience);
  std::optional<Error> lost;
  for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const Duration left = std::max(until - clock_.now(), Duration::zero());
    Result<api::Response> answer = send(request, left + kOnTheWay);
    std::optional<Error> error;
    if (answer) {
      error = error_in(request, *answer);
    } else {
      error = std::move(answer.error());
    }
    if (!error) return Told{std::move(*answer), lost.has_value()};
    if (is_lost(*error)) lost = *error;
    if (!lost) return std::unexpected(std::move(*error));
    // Once an answer was lost, no error of a later one says what became of it.
    const bool over = repeat == Repeat::never || !may_pass(*error) || clock_.now() >= until;
    if (over) return std::unexpected(std::move(*lost));
    clock_.sleep(pause);
  }
}

Result<api::Request> Peer::request(std::string method, std::string path) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  api::Request request{std::move(method), std::move(path), {}, ""};
  request.headers.add("Once-Namespace", name_space_);
  request.headers.add(std::string(api::kDataHeader), std::string(api::kExactData));
  return request;
}

Result<api::Request> Peer::request(std::string method, std::string_view noun, std::string_view name,
                                   std::string_view action) const {
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  std::string path = "/v1/";
  path.append(noun).append("/").append(api::encode_percent(name));
  if (!action.empty()) path.append("/").append(action);
  return request(std::move(method), std::move(path));
}

std::string Peer::new_id() {
  return "lib-" + api::hex_text(entropy_.random()) + api::hex_text(entropy_.random());
}

std::string duration_text(Duration length) { return std::to_string(length.count()) + "ms"; }

Result<std::string> time_text(Time time) {
  using namespace std::chrono;
  if (time >= Time{} && time < Time(sys_days(year(10'000) / 1 / 1))) return api::format_time(time);
  return failure(ErrorCode::invalid, "a time before 1970 or after 9999");
}

}  // namespace once::remote

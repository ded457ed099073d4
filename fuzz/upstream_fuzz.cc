// What an upstream, or a server, answers: through the HTTP client, and on as the proxy passes it.
// The first byte says how the answer is cut on its way and how the connection ends, the second what
// was asked.
#include <algorithm>
#include <vector>

#include "client/http_client.h"
#include "fuzz/record_laws.h"
#include "net/channel.h"
#include "proxy/headers.h"
#include "proxy/stored_answer.h"

namespace once::fuzz {
namespace {

constexpr std::size_t kMaxAnswer = 2'048;
constexpr Duration kPatience = std::chrono::seconds(5);

// A server that says its bytes, a piece at a time, whatever it is asked.
class MemoryChannel final : public net::Channel {
 public:
  MemoryChannel(std::string_view bytes, std::size_t piece, bool closes)
      : bytes_(bytes), piece_(piece), closes_(closes) {}

  int descriptor() const override { return -1; }
  short wants() const override { return 0; }
  std::optional<std::size_t> send(std::string_view bytes) override { return bytes.size(); }
  std::optional<std::size_t> receive(std::span<char> room) override {
    if (bytes_.empty()) return std::nullopt;
    const std::size_t count = std::min({piece_, room.size(), bytes_.size()});
    std::copy_n(bytes_.begin(), count, room.begin());
    bytes_.remove_prefix(count);
    return count;
  }
  bool was_closed() const override { return closes_; }
  bool is_idle() override { return false; }

 private:
  std::string_view bytes_;
  const std::size_t piece_;
  const bool closes_;
};

struct Said {
  std::string_view bytes;
  bool closes = false;
};

struct Outcome {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<ErrorCode> error;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

bool ends_a_line(char c) { return c == '\r' || c == '\n' || c == '\0'; }

Outcome outcome_of(const api::Request& request, const Result<api::Response>& answer,
                   std::string body) {
  if (!answer) {
    // A request that was sent and may have taken effect is never called unavailable.
    const bool reads = request.method != "POST";
    require(answer.error().code == (reads ? ErrorCode::unavailable : ErrorCode::unknown));
    return {.status = 0, .body = "", .headers = {}, .error = answer.error().code};
  }
  require(answer->status >= 200 && answer->status <= 999);
  Outcome outcome{.status = answer->status, .body = std::move(body), .headers = {}, .error = {}};
  for (const auto& [name, value] : answer->headers.fields()) {
    require(!name.empty() && std::ranges::none_of(value, ends_a_line));
    outcome.headers.emplace_back(name, value);
  }
  return outcome;
}

// What is passed on says nothing of the upstream's connection, and is replayed as it was.
void check_replay(const api::Response& answer, const std::string& method) {
  const api::Response passed{answer.status, proxy::towards_client(answer.headers, method),
                             answer.body};
  for (const char* name : {"Connection", "Transfer-Encoding", "Keep-Alive", "Trailer"}) {
    require(!passed.headers.find(name));
  }
  const Result<proxy::StoredAnswer> stored = proxy::decode_answer(proxy::encode(passed));
  require(stored.has_value() && stored->response.status == passed.status);
  require(stored->response.body == passed.body);
}

client::HttpClient client_of(const Said& said, std::size_t piece, int& connections) {
  return {"http://upstream",
          client::Forwarding{
              .max_answer = kMaxAnswer, .stopped = {}, .dial = [&connections, said, piece] {
                ++connections;
                return std::make_unique<MemoryChannel>(said.bytes, piece, said.closes);
              }}};
}

Outcome held(const api::Request& request, const Said& said, std::size_t piece) {
  int connections = 0;
  client::HttpClient client = client_of(said, piece, connections);
  Result<api::Response> answer = client.call(request, kPatience);
  require(connections == 1);  // Nothing is sent twice (docs/hazards.md#h8).
  if (answer) require(answer->body.size() <= kMaxAnswer);
  if (answer) check_replay(*answer, request.method);
  return outcome_of(request, answer, answer ? answer->body : "");
}

Outcome streamed(const api::Request& request, const Said& said, std::size_t piece) {
  int connections = 0;
  client::HttpClient client = client_of(said, piece, connections);
  std::string body;
  int begun = 0;
  client::StreamOptions options{.timeout_kind = client::StreamOptions::TimeoutKind::whole,
                                .timeout = kPatience,
                                .hold = 64,
                                .begin = [&](const api::Response&) { ++begun; },
                                .piece =
                                    [&](std::string_view some) {
                                      require(begun == 1);
                                      body += some;
                                      return true;
                                    }};
  const Result<api::Response> answer = client.call_streaming(request, options);
  require(connections == 1 && begun <= 1);
  if (answer && begun == 0) require(answer->body.size() <= options.hold);
  return outcome_of(request, answer, begun == 0 && answer ? answer->body : body);
}

}  // namespace
}  // namespace once::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace once::fuzz;
  if (size < 2) return 0;
  const Said said{{reinterpret_cast<const char*>(data) + 2, size - 2}, data[0] % 2 == 0};
  const std::size_t piece = data[0] / 2U + 1;
  constexpr std::size_t kMost = 60'000;
  const char* const methods[] = {"POST", "GET", "HEAD"};
  const once::api::Request request{methods[data[1] % 3], "/", {}, ""};
  // How the bytes are cut on their way changes nothing of what they mean.
  const Outcome whole = held(request, said, kMost);
  const Outcome stream = streamed(request, said, kMost);
  if (piece >= said.bytes.size()) return 0;
  require(whole == held(request, said, piece));
  require(stream == streamed(request, said, piece));
  return 0;
}

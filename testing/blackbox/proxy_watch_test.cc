// What the proxy tells of itself: metrics on a port of its own, and lines for what is notable.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "testing/proxy_process.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kCaller = "00f067aa0ba902b7";

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string sampled() {
  return std::string("traceparent: 00-") + kTrace + "-" + kCaller + "-01\r\n";
}

std::string pong(const std::string& request, int) {
  if (holds(request, " /lost ")) return "";
  return http_answer("200 OK", "pong", "X-Request-Id: of-upstream\r\n");
}

// The value of `"name":"..."`, from `at` on.
std::string text_after(const std::string& line, const std::string& name) {
  const std::string mark = "\"" + name + "\":\"";
  const std::size_t at = line.find(mark);
  if (at == std::string::npos) return "";
  return line.substr(at + mark.size(), line.find('"', at + mark.size()) - at - mark.size());
}

// A proxy whose standard error goes to a file.
class ProxyWatch : public ::testing::Test {
 protected:
  void start(const std::vector<std::string>& more) {
    const std::string line = "exec \"$0\" \"$@\" 2>" + log_path().string();
    std::vector<std::string> words = {
        "-c",      line,      ONCE_BINARY, "proxy",      "--upstream", upstream_.url(),
        "--store", "memory:", "--listen",  "127.0.0.1:0"};
    words.insert(words.end(), more.begin(), more.end());
    proxy_ = std::make_unique<ChildProcess>("/bin/sh", words);
    ready_ = proxy_->read_line().value_or("");
    port_ = port_after("proxy http://127.0.0.1:");
    metrics_ = port_after("metrics at http://127.0.0.1:");
    ASSERT_NE(port_, 0) << ready_ << log();
  }
  void stop() {
    ::kill(proxy_->pid(), SIGTERM);
    EXPECT_EQ(proxy_->wait(), 0);
  }

  RawAnswer post(const std::string& target, const std::string& headers,
                 const std::string& body = "b") {
    return RawHttp(port_).call("POST", target, body, headers).value_or(RawAnswer{});
  }
  RawAnswer watch(const std::string& method, const std::string& target) {
    return RawHttp(metrics_).call(method, target).value_or(RawAnswer{});
  }
  std::uint16_t port() const { return port_; }
  std::string metrics() { return watch("GET", "/metrics").body; }

  std::string log() const {
    std::ifstream file(log_path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string line_with(const std::string& part) const {
    std::ifstream file(log_path());
    for (std::string line; std::getline(file, line);) {
      if (holds(line, part)) return line;
    }
    return "";
  }

  Upstream upstream_{pong};

 private:
  std::filesystem::path log_path() const { return dir_.path() / "log"; }
  std::uint16_t port_after(const std::string& words) const {
    const std::size_t at = ready_.find(words);
    if (at == std::string::npos) return 0;
    return static_cast<std::uint16_t>(std::stoi(ready_.substr(at + words.size())));
  }

  TempDir dir_;
  std::unique_ptr<ChildProcess> proxy_;
  std::string ready_;
  std::uint16_t port_ = 0;
  std::uint16_t metrics_ = 0;
};

TEST_F(ProxyWatch, CountsWhatCameOfEachRequestOnAPortOfItsOwn) {
  start({"--metrics-listen", "127.0.0.1:0"});
  EXPECT_TRUE(
      holds(metrics(), "once_outcomes_total{primitive=\"proxy\",outcome=\"replayed\"} 0\n"));
  post("/a", key_header("k"));
  post("/a", key_header("k"));
  post("/a", key_header("k"), "other");
  post("/a", "");
  post("/a", key_header("\"half"));
  post("/lost", key_header("l"));
  const std::string text = metrics();
  for (const char* outcome : {"executed", "replayed", "mismatch", "passed", "invalid", "unknown"}) {
    const std::string sample =
        std::string("once_outcomes_total{primitive=\"proxy\",outcome=\"") + outcome + "\"} 1\n";
    EXPECT_TRUE(holds(text, sample)) << sample << text;
  }
  EXPECT_TRUE(holds(text, "duplicate_events_skipped_total{event_type=\"proxy\"} 1\n")) << text;
  EXPECT_TRUE(holds(text, "idempotency_check_duration_seconds_count 4\n")) << text;
  EXPECT_TRUE(holds(text, "once_proxy_upstream_seconds_count 3\n")) << text;
  EXPECT_TRUE(holds(text, "once_proxy_upstream_errors_total{reason=\"unknown\"} 1\n")) << text;
  EXPECT_TRUE(holds(text, "once_store_commits_total{store=\"memory\",result=\"committed\"}"));
  EXPECT_FALSE(holds(text, "primitive=\"claims\"")) << text;
}

// What stands between `begin` and `end` in each line that has both.
std::set<std::string> names_in(const std::string& text, const std::string& begin,
                               const std::string& end) {
  std::set<std::string> names;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(begin)) continue;
    names.insert(line.substr(begin.size(), line.find(end, begin.size()) - begin.size()));
  }
  return names;
}

TEST_F(ProxyWatch, TheOperatorsManualHasEveryMetric) {
  start({"--metrics-listen", "127.0.0.1:0"});
  std::ifstream file(ONCE_SOURCE_DIR "/docs/operations.md");
  const std::string manual{std::istreambuf_iterator<char>(file), {}};
  const std::set<std::string> told = names_in(manual, "| `", "`");
  const std::set<std::string> there = names_in(metrics(), "# TYPE ", " ");
  EXPECT_GT(there.size(), 10U);
  for (const std::string& name : there) EXPECT_TRUE(told.contains(name)) << name;
  for (const std::string& name : told) {
    EXPECT_TRUE(!name.starts_with("once_proxy_") || there.contains(name)) << name;
  }
}

TEST_F(ProxyWatch, NoPathOfTheUpstreamIsTakenFromIt) {
  start({"--metrics-listen", "127.0.0.1:0"});
  RawHttp client(port());
  EXPECT_EQ(client.call("GET", "/metrics")->body, "pong");
  EXPECT_EQ(client.call("GET", "/healthz")->body, "pong");
  EXPECT_EQ(watch("GET", "/healthz").status, 200);
  EXPECT_EQ(watch("GET", "/anything").status, 404);
  EXPECT_EQ(watch("POST", "/metrics").status, 405);
  EXPECT_EQ(upstream_.requests(), 2);
}

TEST_F(ProxyWatch, ATraceIsPassedOnAsAChildOfItsOwnSpan) {
  start({"--log", "json"});
  post("/a", key_header("k") + sampled());
  const std::string at_upstream = upstream_.last();
  stop();
  const std::string whole = line_with("\"span\":\"proxy\"");
  const std::string check = line_with("\"span\":\"idempotency_check\"");
  const std::string upstream = line_with("\"span\":\"upstream\"");
  for (const std::string& line : {whole, check, upstream}) {
    EXPECT_EQ(text_after(line, "trace_id"), kTrace) << log();
    EXPECT_TRUE(holds(line, "\"duration_ms\":")) << line;
  }
  EXPECT_EQ(text_after(whole, "parent_id"), kCaller);
  EXPECT_EQ(text_after(whole, "outcome"), "executed");
  EXPECT_EQ(text_after(check, "parent_id"), text_after(whole, "span_id"));
  EXPECT_EQ(text_after(check, "outcome"), "claimed");
  EXPECT_EQ(text_after(upstream, "parent_id"), text_after(whole, "span_id"));
  EXPECT_TRUE(holds(at_upstream, std::string("traceparent: 00-") + kTrace + "-" +
                                     text_after(upstream, "span_id") + "-01\r\n"))
      << at_upstream;
}

TEST_F(ProxyWatch, ATraceThatNobodyRecordsHereIsPassedOnAsItCame) {
  start({});
  post("/a", sampled());
  EXPECT_TRUE(holds(upstream_.last(), sampled())) << upstream_.last();
}

TEST_F(ProxyWatch, NotesDownDuplicatesAndFailuresWithTheIdOfTheRequest) {
  start({"--log", "json"});
  const std::string id = "X-Request-Id: mine-1\r\n";
  EXPECT_EQ(post("/a", key_header("k") + id).header("X-Request-Id"), "of-upstream");
  EXPECT_EQ(post("/a", key_header("k") + id).header("X-Request-Id"), "of-upstream");
  EXPECT_EQ(post("/a", key_header("k") + id, "other").header("X-Request-Id"), "mine-1");
  EXPECT_EQ(post("/lost", key_header("l") + id).header("X-Request-Id"), "mine-1");
  stop();
  EXPECT_EQ(text_after(line_with("\"event\":\"duplicate\""), "reason"), "already_done") << log();
  EXPECT_EQ(text_after(line_with("\"event\":\"duplicate\""), "request_id"), "mine-1");
  EXPECT_EQ(text_after(line_with("\"event\":\"failed\""), "code"), "unknown");
  EXPECT_EQ(text_after(line_with("\"warning\""), "warning"), "memory");
  EXPECT_NE(line_with("\"event\":\"start\",\"url\""), "");
  EXPECT_NE(line_with("\"event\":\"stop\""), "");
}

}  // namespace
}  // namespace once::testing

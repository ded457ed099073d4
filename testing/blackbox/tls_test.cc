// The real binary through TLS: as a server, as a proxy, and as their client.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "client/http_client.h"
#include "testing/certificate.h"
#include "testing/needs_store.h"
#include "testing/proxy_process.h"
#include "testing/raw_http.h"
#include "testing/server_process.h"
#include "testing/temp_dir.h"

namespace once::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kHere = "IP:127.0.0.1";
constexpr Duration kSoonEnough = 30s;
const api::Request kHealth{"GET", "/healthz", {}, ""};

class Tls : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  std::vector<std::string> with_tls(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--tls-cert", file("server.pem")});
    return more;
  }

  // 0 if there was no answer.
  static int status_at(const std::string& url, const client::ClientFiles& files) {
    client::HttpClient client(url, "", client::trusting(client::read_tls(files).value()));
    const auto answer = client.call(kHealth, kSoonEnough);
    why_ = answer ? "" : answer.error().message;
    return answer ? answer->status : 0;
  }

  // A command's exit code. Its output goes to out.txt.
  int exit_of(std::vector<std::string> arguments) const {
    const int errors =
        ::open(file("err.txt").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ChildProcess command(ONCE_BINARY, arguments, errors);
    ::close(errors);
    while (command.read_line()) {
    }
    return command.wait();
  }
  std::string said() const {
    std::ifstream in(file("err.txt"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const TempDir dir_;
  const Authority authority_{dir_.path() / "ca.pem"};
  const client::ClientFiles trusting_{.ca = authority_.file(), .certificate = "", .key = ""};
  static inline std::string why_;
};

TEST_F(Tls, AServerIsKnownByItsCertificateAndItsName) {
  authority_.issue(file("server.pem"), kHere);
  const ServerProcess server("memory:", with_tls());
  ASSERT_TRUE(server.running()) << server.ready_line();
  EXPECT_TRUE(server.url().starts_with("https://")) << server.url();
  EXPECT_EQ(status_at(server.url(), trusting_), 200) << why_;
  EXPECT_EQ(exit_of({"claim", "take", "a", "--store", server.url(), "--ca", authority_.file()}), 0);
  EXPECT_EQ(exit_of({"run", "b", "--store", server.url(), "--ca", authority_.file(), "--", "true"}),
            0);
  // One answer of it does not fit into what is read at once.
  EXPECT_EQ(exit_of({"bench", "seen", "--batch", "5000", "--clients", "2", "--seconds", "1",
                     "--store", server.url(), "--ca", authority_.file()}),
            0)
      << said();
}

TEST_F(Tls, ACertificateThatIsExpiredOrHasAnotherNameOrAnotherAuthorityGetsNoRequest) {
  const Authority other(dir_.path() / "other.pem", "another authority");
  const auto refuses = [&](const char* names, Validity validity, const std::string& ca) {
    authority_.issue(file("server.pem"), names, validity);
    const ServerProcess server("memory:", with_tls());
    EXPECT_TRUE(server.running()) << server.ready_line();
    EXPECT_EQ(exit_of({"claim", "take", "a", "--store", server.url(), "--ca", ca}), 69);
    return said();
  };
  EXPECT_NE(refuses(kHere, {-7'200, -3'600}, authority_.file()).find("expired"), std::string::npos);
  EXPECT_NE(refuses("DNS:elsewhere.example", {}, authority_.file()).find("mismatch"),
            std::string::npos);
  EXPECT_NE(refuses(kHere, {}, other.file()).find("not to be trusted"), std::string::npos);
}

TEST_F(Tls, OnlyClientsOfTheAuthorityAreLetIn) {
  const Authority clients(dir_.path() / "clients.pem", "clients");
  const Authority other(dir_.path() / "other.pem", "another authority");
  authority_.issue(file("server.pem"), kHere);
  clients.issue(file("known.pem"), "DNS:a.client");
  clients.issue(file("old.pem"), "DNS:a.client", {-7'200, -3'600});
  other.issue(file("unknown.pem"), "DNS:a.client");
  const ServerProcess server("memory:", with_tls({"--tls-client-ca", clients.file()}));
  ASSERT_TRUE(server.running()) << server.ready_line();
  const auto shown = [&](const std::string& certificate) {
    return client::ClientFiles{.ca = authority_.file(), .certificate = certificate, .key = ""};
  };
  EXPECT_EQ(status_at(server.url(), shown(file("known.pem"))), 200) << why_;
  // With TLS 1.3 a server sees the certificate only when the client has sent its request: that it
  // was refused is no unknown outcome.
  for (const std::string& certificate : {std::string(), file("old.pem"), file("unknown.pem")}) {
    client::HttpClient client(server.url(), "",
                              client::trusting(client::read_tls(shown(certificate)).value()));
    const auto answer = client.call({"POST", "/v1/claims/a", {}, "{}"}, kSoonEnough);
    ASSERT_FALSE(answer.has_value()) << certificate;
    EXPECT_EQ(answer.error().code, ErrorCode::unavailable) << answer.error().message;
  }
  EXPECT_EQ(exit_of({"claim", "take", "a", "--store", server.url(), "--ca", authority_.file(),
                     "--client-cert", file("known.pem")}),
            0);
}

TEST_F(Tls, AProxyAndItsUpstreamAndItsStoreAllSpeakIt) {
  const Authority clients(dir_.path() / "clients.pem", "clients");
  authority_.issue(file("server.pem"), kHere);
  clients.issue(file("proxy.pem"), "DNS:proxy");
  const std::vector<std::string> closed = with_tls({"--tls-client-ca", clients.file()});
  const ServerProcess store("memory:", closed);
  const ServerProcess upstream("memory:", closed);
  ProxyProcess proxy(upstream.url(), store.url(),
                     with_tls({"--ca", authority_.file(), "--client-cert", file("proxy.pem")}));
  ASSERT_TRUE(proxy.running()) << proxy.ready_line();
  client::HttpClient client("https://127.0.0.1:" + std::to_string(proxy.port()), "",
                            client::trusting(client::read_tls(trusting_).value()));
  api::Request append{"POST", "/v1/logs/s", {}, R"({"events":[{"data":1}]})"};
  append.headers.add("Content-Type", "application/json");
  append.headers.add("Idempotency-Key", "k");
  for (const char* replayed : {"", "true"}) {
    const auto answer = client.call(append, kSoonEnough);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(answer->status, 201);
    EXPECT_EQ(answer->headers.find("Idempotent-Replayed").value_or(""), replayed);
  }
}

TEST_F(Tls, TheMetricsOfAProxyHaveItsCertificateAndTheNextOneToo) {
  const Authority next(dir_.path() / "next.pem", "the next authority");
  authority_.issue(file("server.pem"), kHere);
  const ServerProcess upstream("memory:");
  ProxyProcess proxy(upstream.url(), "memory:", with_tls({"--metrics-listen", "127.0.0.1:0"}));
  const std::size_t at =
      proxy.ready_line().find("https://127.0.0.1:", proxy.ready_line().find("; metrics at "));
  ASSERT_NE(at, std::string::npos) << proxy.ready_line();
  const std::string url = proxy.ready_line().substr(at, proxy.ready_line().rfind("/metrics") - at);
  EXPECT_EQ(status_at(url, trusting_), 200) << why_;
  next.issue(file("server.pem"), kHere);
  ::kill(proxy.pid(), SIGHUP);
  const client::ClientFiles trusting_next{.ca = next.file(), .certificate = "", .key = ""};
  const auto until = std::chrono::steady_clock::now() + kSoonEnough;
  while (status_at(url, trusting_next) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(status_at(url, trusting_next), 200) << why_;
  EXPECT_EQ(status_at(url, trusting_), 0);
}

TEST_F(Tls, ACommandInTheServersDirectoryKnowsItWhateverItsCertificateSays) {
  ONCE_NEEDS_STORE_KIND("rocksdb");
  authority_.issue(file("server.pem"), "DNS:once.example");
  const std::string store = file("store");
  ServerProcess server(store, with_tls());
  ASSERT_TRUE(server.running()) << server.ready_line();
  EXPECT_EQ(exit_of({"claim", "take", "a", "--store", store}), 0) << said();
  EXPECT_EQ(exit_of({"run", "b", "--store", store, "--", "true"}), 0) << said();
  // Also one that was replaced since, and one that began before it was.
  authority_.issue(file("server.pem"), "DNS:other.example");
  ::kill(server.pid(), SIGHUP);
  EXPECT_EQ(exit_of({"claim", "show", "a", "--store", store}), 0) << said();
  // What shows another certificate is not asked, even if it knows the address.
  std::ifstream address(store + "/server");
  std::string url, instance, secret;
  address >> url >> instance >> secret;
  std::ofstream(store + "/server") << url << '\n'
                                   << instance << '\n'
                                   << secret << '\n'
                                   << std::string(64, 'a') << '\n';
  EXPECT_EQ(exit_of({"claim", "show", "a", "--store", store}), 69) << said();
}

TEST_F(Tls, AHandshakeThatIsNotFinishedEndsInTimeAndTakesNoConnectionForGood) {
  authority_.issue(file("server.pem"), kHere);
  const ServerProcess server("memory:",
                             with_tls({"--max-connections", "2", "--handshake-timeout", "1s"}));
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp silent(server.port());
  RawHttp slow(server.port());
  slow.send(std::string("\x16\x03\x01", 3));
  EXPECT_TRUE(silent.ended());
  EXPECT_TRUE(slow.ended());
  EXPECT_EQ(status_at(server.url(), trusting_), 200) << why_;
}

TEST_F(Tls, WhoSpeaksPlainHttpIsToldSo) {
  authority_.issue(file("server.pem"), kHere);
  const ServerProcess server("memory:", with_tls());
  ASSERT_TRUE(server.running()) << server.ready_line();
  const auto answer = RawHttp(server.port()).call("GET", "/healthz");
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 400);
}

TEST_F(Tls, LargeBodiesAndAnswersPassWhole) {
  authority_.issue(file("server.pem"), kHere);
  const ServerProcess server("memory:", with_tls());
  ASSERT_TRUE(server.running()) << server.ready_line();
  client::HttpClient client(server.url(), "",
                            client::trusting(client::read_tls(trusting_).value()));
  api::Request put{"PUT", "/v1/docs/d", {}, std::string(900'000, 'x')};
  for (std::size_t i = 0; i < put.body.size(); ++i) put.body[i] = static_cast<char>('a' + i % 23);
  put.headers.add("If-None-Match", "*");
  put.headers.add("Content-Type", "text/plain");
  const auto written = client.call(put, kSoonEnough);
  ASSERT_TRUE(written.has_value()) << written.error().message;
  EXPECT_EQ(written->status, 201) << written->body;
  const auto read = client.call({"GET", "/v1/docs/d", {}, ""}, kSoonEnough);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->body, put.body);
}

TEST_F(Tls, BeyondLoopbackAServerWithoutTlsDoesNotStartUnlessItIsTold) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"serve", "--open-to-all"},
        std::vector<std::string>{"proxy", "--upstream", "http://127.0.0.1:1"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--store", "memory:", "--listen", "0.0.0.0:0"});
    EXPECT_EQ(exit_of(arguments), 64);
    EXPECT_NE(said().find("without TLS"), std::string::npos) << said();
    arguments.emplace_back("--plain-http");
    ChildProcess told(ONCE_BINARY, arguments);
    EXPECT_TRUE(told.read_line().has_value());
  }
  EXPECT_EQ(exit_of({"serve", "--store", "memory:", "--tls-cert", file("none.pem")}), 64);
  EXPECT_NE(said().find("none.pem"), std::string::npos) << said();
}

// A server whose log can be read.
class Logged {
 public:
  Logged(const std::string& log, std::vector<std::string> arguments) : log_(log) {
    const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    arguments.insert(arguments.begin(), {"serve", "--store", "memory:", "--listen", "127.0.0.1:0"});
    child_.emplace(ONCE_BINARY, arguments, errors);
    ::close(errors);
    const std::string ready = child_->read_line().value_or("");
    const std::size_t at = ready.find("http");
    if (at != std::string::npos) url_ = ready.substr(at, ready.find(' ', at) - at);
  }

  const std::string& url() const { return url_; }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1)));
  }

  // Sends the signal, and returns the line that it led to.
  std::string reload() {
    const std::size_t before = text().size();
    ::kill(child_->pid(), SIGHUP);
    for (;;) {
      const std::string now = text().substr(before);
      const std::size_t at = now.find(" reload");
      const std::size_t end = at == std::string::npos ? at : now.find('\n', at);
      if (end != std::string::npos) return now.substr(at, end - at);
      if (::waitpid(child_->pid(), nullptr, WNOHANG) != 0) return "it ended";
      std::this_thread::yield();
    }
  }

 private:
  std::string text() const {
    std::ifstream in(log_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string log_;
  std::optional<ChildProcess> child_;
  std::string url_;
};

TEST_F(Tls, ACertificateIsReplacedUnderLoadWithoutALostRequest) {
  const Authority next(dir_.path() / "next.pem", "the next authority");
  authority_.issue(file("server.pem"), kHere);
  Logged server(file("log"), {"--tls-cert", file("server.pem")});
  ASSERT_FALSE(server.url().empty());
  std::ofstream(file("both.pem")) << std::ifstream(authority_.file()).rdbuf()
                                  << std::ifstream(next.file()).rdbuf();
  const client::ClientFiles both{.ca = file("both.pem"), .certificate = "", .key = ""};
  std::atomic<bool> over = false;
  std::atomic<int> lost = 0;
  std::atomic<int> answered = 0;
  std::vector<std::thread> load;
  for (int i = 0; i < 4; ++i) {
    load.emplace_back([&, keeps = i % 2 == 0] {
      const client::SharedTls tls = client::read_tls(both).value();
      std::optional<client::HttpClient> client;
      while (!over) {
        if (!keeps || !client) client.emplace(server.url(), "", client::trusting(tls));
        const auto answer = client->call({"POST", "/v1/claims/a", {}, "{}"}, kSoonEnough);
        ++(answer ? answered : lost);
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    (i % 2 == 0 ? next : authority_).issue(file("server.pem"), kHere);
    EXPECT_EQ(server.reload(), " reload changed=certificate");
    const int before = answered;
    while (answered < before + 20 && lost == 0) std::this_thread::yield();
  }
  over = true;
  for (std::thread& thread : load) thread.join();
  EXPECT_EQ(lost, 0);
  next.issue(file("server.pem"), kHere);
  server.reload();
  EXPECT_EQ(status_at(server.url(), {.ca = next.file(), .certificate = "", .key = ""}), 200);
  EXPECT_EQ(status_at(server.url(), trusting_), 0);
}

TEST_F(Tls, AReloadChangesNamesPagesAndBoundsOfRequests) {
  const auto configure = [&](const std::string& text) { std::ofstream(file("once.toml")) << text; };
  configure("");
  Logged server(file("log"), {"--config", file("once.toml")});
  ASSERT_FALSE(server.url().empty());
  const auto status_of = [&](const std::string& head, const std::string& body = "") {
    RawHttp peer(server.port());
    peer.send(head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto answer = peer.receive();
    return answer ? answer->status : 0;
  };
  const std::string named = "GET /healthz HTTP/1.1\r\nHost: once.example\r\n";
  const std::string paged =
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\n";
  const std::string tally = "POST /v1/tallies/t HTTP/1.1\r\nHost: localhost\r\n";
  const std::string merge = R"({"kind":"distinct","items":["a"]})";
  EXPECT_EQ(status_of(named), 421);
  EXPECT_EQ(status_of(paged), 403);
  EXPECT_EQ(status_of(tally, merge), 200);
  configure(
      "host = \"once.example\"\nallow-origin = \"https://app.example\"\n"
      "request-timeout = \"5s\"\nmax-tally-bytes = 100\ntoken-trust = \"30s\"\n");
  EXPECT_EQ(
      server.reload(),
      " reload changed=\"allow-origin, host, max-tally-bytes, request-timeout, token-trust\"");
  EXPECT_EQ(status_of(named), 200);
  EXPECT_EQ(status_of(paged), 200);
  EXPECT_EQ(status_of("POST /v1/commit HTTP/1.1\r\nHost: localhost\r\n",
                      R"({"tallies":[{"key":"u","kind":"distinct","items":["a"]}]})"),
            413);
  configure("host = \"once.example\"\nrequest-timeout = \"5m\"\n");  // Too long.
  EXPECT_NE(server.reload().find("request-timeout"), std::string::npos);
  EXPECT_EQ(status_of(paged), 200);
  configure("");
  server.reload();
  EXPECT_EQ(status_of(named), 421);
  EXPECT_EQ(status_of(paged), 403);
}

TEST_F(Tls, AReloadIsTakenWhollyOrNotAtAll) {
  authority_.issue(file("server.pem"), kHere);
  const auto configure = [&](const std::string& text) {
    std::ofstream(file("once.toml")) << "[serve]\ntls-cert = \"" << file("server.pem") << "\"\n"
                                     << text;
  };
  const std::string route = "[[route]]\ntype = \"build.*\"\nlog = \"builds\"\n";
  configure("max-body = 1000\n");
  Logged server(file("log"), {"--config", file("once.toml")});
  ASSERT_FALSE(server.url().empty());
  client::HttpClient client(server.url(), "",
                            client::trusting(client::read_tls(trusting_).value()));
  const auto status_of_body = [&](std::size_t bytes) {
    return client
        .call({"POST", "/v1/claims/a", {}, "{" + std::string(bytes - 2, ' ') + "}"}, kSoonEnough)
        ->status;
  };
  const auto events_logged = [&](const std::string& id) {
    api::Request event{"POST", "/v1/events", {}, "{}"};
    event.headers.add("Content-Type", "application/json");
    event.headers.add("ce-specversion", "1.0");
    event.headers.add("ce-type", "build.done");
    event.headers.add("ce-source", "test");
    event.headers.add("ce-id", id);
    EXPECT_EQ(client.call(event, kSoonEnough)->status, 200);
    return client.call({"GET", "/v1/logs/builds", {}, ""}, kSoonEnough)->body.find("\"index\":1") !=
           std::string::npos;
  };
  EXPECT_EQ(status_of_body(2'000), 413);
  EXPECT_FALSE(events_logged("1"));

  configure("max-body = 4000\n" + route);
  EXPECT_EQ(server.reload(), " reload changed=\"max-body, routes (1 now)\"");
  EXPECT_NE(status_of_body(2'000), 413);
  EXPECT_TRUE(events_logged("2"));

  // A bad certificate, an option of the start, a wrong value: neither of the others counts.
  std::ofstream(file("server.pem")) << "no certificate";
  configure("max-body = 1000\n");
  EXPECT_NE(server.reload().find("server.pem"), std::string::npos);
  EXPECT_NE(status_of_body(2'000), 413);
  authority_.issue(file("server.pem"), kHere);
  configure("max-body = 1000\nthreads = 7\n");
  EXPECT_NE(server.reload().find("threads"), std::string::npos);
  configure("max-body = 1000\nidle-timeout = \"soon\"\n");
  EXPECT_NE(server.reload().find("idle-timeout"), std::string::npos);
  EXPECT_NE(status_of_body(2'000), 413);
  EXPECT_EQ(status_at(server.url(), trusting_), 200) << why_;
  configure("max-body = 1000\n");
  EXPECT_NE(server.reload().find("max-body"), std::string::npos);
  EXPECT_EQ(status_of_body(2'000), 413);
}

TEST_F(Tls, ASignalToReloadEndsNeitherAServerNorAProxy) {
  Logged server(file("log"), {});
  ASSERT_FALSE(server.url().empty());
  EXPECT_EQ(server.reload(), " reload changed=nothing");
  EXPECT_EQ(RawHttp(server.port()).call("GET", "/healthz")->status, 200);
  ProxyProcess proxy(server.url(), "memory:");
  ::kill(proxy.pid(), SIGHUP);
  EXPECT_EQ(RawHttp(proxy.port()).call("GET", "/healthz")->status, 200);
  EXPECT_EQ(proxy.terminate(), 0);
}

TEST_F(Tls, OneAddressHasItsShareOfConnectionsAndGetsItBack) {
  const ServerProcess server("memory:", {"--max-connections-per-address", "2"});
  ASSERT_TRUE(server.running()) << server.ready_line();
  RawHttp first(server.port());
  EXPECT_EQ(first.call("GET", "/healthz")->status, 200);
  {
    RawHttp second(server.port());
    EXPECT_EQ(second.call("GET", "/healthz")->status, 200);
    RawHttp third(server.port());
    const auto refused = third.receive();
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->status, 503);
    EXPECT_NE(refused->body.find("from this address"), std::string::npos) << refused->body;
  }
  for (;;) {  // The server notices the end of the second in its own time.
    RawHttp again(server.port());
    again.send("GET", "/metrics", "");
    const auto answer = again.receive();
    ASSERT_TRUE(answer.has_value());
    if (answer->status == 503) continue;
    EXPECT_NE(answer->body.find("once_connections_refused_total{reason=\"address\"} "),
              std::string::npos);
    EXPECT_EQ(answer->body.find("once_connections_refused_total{reason=\"address\"} 0\n"),
              std::string::npos);
    break;
  }
}

}  // namespace
}  // namespace once::testing

// Request smuggling, from outside: the cases that are public knowledge, against a server and
// against a proxy whose upstream records what reached it (docs/hazards.md#h42). A request that two
// servers could frame differently is refused, and the connection ends with the refusal.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testing/proxy_process.h"
#include "testing/server_process.h"

namespace once::testing {
namespace {

using namespace std::string_literals;

enum class Then : std::uint8_t { closes, stays };

struct SmugglingCase {
  std::string name;
  std::string bytes;
  int status;  // Of the first answer.
  Then then;
  std::string body = "";  // That reaches an upstream, if the status is a success.
  int proxy_status = 0;   // If it is another one.
};

// What must never be taken for a request: it is a body, or refused with what it came in.
const std::string kSmuggled =
    "POST /v1/claims/smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}";
const std::string kFirstLine = "POST /v1/claims/KEY HTTP/1.1\r\n";
const std::string kHost = "Host: 127.0.0.1\r\n";
const std::string kChunks = "2\r\n{}\r\n0\r\n\r\n";

std::string post(const std::string& headers, const std::string& body) {
  return kFirstLine + kHost + headers + "\r\n" + body;
}
std::string chunked(const std::string& chunks) {
  return post("Transfer-Encoding: chunked\r\n", chunks);
}

class SmugglingCases {
 public:
  std::vector<SmugglingCase> all() && { return std::move(cases_); }

  void refused(std::string name, std::string bytes, int status = 400) {
    cases_.push_back({std::move(name), std::move(bytes), status, Then::closes});
  }
  void taken(std::string name, std::string bytes, std::string body = "{}") {
    cases_.push_back({std::move(name), std::move(bytes), 201, Then::stays, std::move(body)});
  }
  void add(SmugglingCase one) { cases_.push_back(std::move(one)); }

 private:
  std::vector<SmugglingCase> cases_;
};

void add_two_framings(SmugglingCases& to) {
  to.refused("CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"));
  to.refused("CL.TE with a whole request",
             post("Content-Length: 90\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + kSmuggled));
  to.refused("TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
                           "5e\r\n" + kSmuggled + "\r\n0\r\n\r\n"));
  to.refused("CL.TE with no length",
             post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", kChunks + kSmuggled));
  to.refused("HTTP/1.0 in chunks", "POST /v1/claims/KEY HTTP/1.0\r\n" + kHost +
                                       "Transfer-Encoding: chunked\r\n\r\n" + kChunks + kSmuggled);
  to.refused("HTTP/1.0 CL.TE", "POST /v1/claims/KEY HTTP/1.0\r\n" + kHost +
                                   "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                   kChunks + kSmuggled);
  const auto with_coding = [](const std::string& field) {
    return post(field + "\r\n", kChunks + kSmuggled);
  };
  to.refused("TE.TE chunked first",
             with_coding("Transfer-Encoding: chunked\r\nTransfer-Encoding: cow"), 501);
  to.refused("TE.TE chunked last",
             with_coding("Transfer-Encoding: cow\r\nTransfer-Encoding: chunked"), 501);
  to.refused("TE.TE twice the same",
             with_coding("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 501);
  to.refused("TE.TE another case",
             with_coding("Transfer-Encoding: chunked\r\nTransfer-encoding: x"), 501);
  for (const char* coding :
       {"xchunked", "chunkedx", "identity", "gzip", "chunked, identity", "identity, chunked",
        "gzip, chunked", "chunked, chunked", "\"chunked\"", "'chunked'", "chunked;foo=bar",
        "chunked,", ",chunked", "",
        "\xff"
        "chunked",
        "chunked\xa0", "chunk", "chunked chunked"}) {
    to.refused("a coding "s + coding, with_coding("Transfer-Encoding: "s + coding), 501);
  }
  to.refused("identity and a length",
             post("Transfer-Encoding: identity\r\nContent-Length: 2\r\n", "{}" + kSmuggled), 501);
  to.refused("a coding after VT", with_coding("Transfer-Encoding: \vchunked"));
  to.refused("a coding before VT", with_coding("Transfer-Encoding: chunked\v"));
  to.refused("a coding after FF", with_coding("Transfer-Encoding: \fchunked"));
  to.refused("a coding after NUL", with_coding("Transfer-Encoding: "s + '\0' + "chunked"));
  to.refused("a coding after DEL",
             with_coding("Transfer-Encoding: \x7f"
                         "chunked"),
             501);
  to.taken("a coding after a tab", post("Transfer-Encoding:\tchunked\r\n", kChunks));
  to.taken("a coding in capitals", post("TRANSFER-ENCODING: CHUNKED\r\n", kChunks));
  to.taken("a coding that Connection names",
           post("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", kChunks));
  to.taken("a length that Connection names",
           post("Connection: Content-Length\r\nContent-Length: 2\r\n", "{}"));
  to.taken("a coding with an underscore",
           post("Transfer_Encoding: chunked\r\nContent-Length: 2\r\n", "{}"));
  to.taken("a length with an underscore",
           post("Content_Length: 90\r\nContent-Length: 2\r\n", "{}"));
  to.taken("TE is no coding", post("TE: chunked\r\nContent-Length: 2\r\n", "{}"));
}

void add_lengths(SmugglingCases& to) {
  const auto with_length = [](const std::string& length) {
    return post("Content-Length: " + length + "\r\n", "{}" + kSmuggled);
  };
  to.refused("two lengths", with_length("2\r\nContent-Length: 90"));
  to.refused("two lengths that are equal", with_length("2\r\nContent-Length: 2"));
  to.refused("two lengths, one in capitals", with_length("2\r\nCONTENT-LENGTH: 90"));
  for (const char* length : {"2, 2",
                             "2, 90",
                             "2,",
                             ",2",
                             "+2",
                             "-2",
                             "-0",
                             "0x2",
                             "2 2",
                             "2\t90",
                             "",
                             "2;",
                             "2;a=b",
                             "2.0",
                             "1e1",
                             "\xd9\xa2",
                             "\"2\"",
                             "two",
                             "2\xa0",
                             "18446744073709551616",
                             "99999999999999999999999999"}) {
    to.refused("a length of "s + length, with_length(length));
  }
  to.refused("the largest length", with_length("18446744073709551615"), 413);
  to.refused("a length beyond 63 bits", with_length("9223372036854775808"), 413);
  to.refused("a length after NUL", with_length("\0"s + "2"));
  to.taken("a length after two blanks", post("Content-Length:  2 \r\n", "{}"));
  to.taken("a length with leading zeros", post("Content-Length: 0002\r\n", "{}"));
  to.add({"a body of GET",
          "GET /healthz HTTP/1.1\r\n" + kHost +
              "Content-Length: " + std::to_string(kSmuggled.size()) + "\r\n\r\n" + kSmuggled,
          200, Then::stays, kSmuggled, 201});
}

void add_chunks(SmugglingCases& to) {
  for (const char* size :
       {"-2", "+2", "0x2", "2 ", " 2", "\t2", "g", "2g", "", "-0", "10000000000000002", "2;", "2;;",
        "2;a=", "2;=b", "2 a", "2,", "2;a\tb c"}) {
    to.refused("a chunk of "s + size, chunked(size + "\r\n{}\r\n0\r\n\r\n"s + kSmuggled));
  }
  to.refused("the largest chunk", chunked("ffffffffffffffff\r\n{}\r\n0\r\n\r\n"), 413);
  to.refused("a chunk's size before LF", chunked("2\n{}\r\n0\r\n\r\n" + kSmuggled));
  to.refused("a chunk's size before CR", chunked("2\r{}\r\n0\r\n\r\n" + kSmuggled));
  to.refused("a chunk's extension before LF", chunked("2;\nxx\r\n{}\r\n0\r\n\r\n" + kSmuggled));
  to.refused("a chunk's extension with CR", chunked("2;a\rb\r\n{}\r\n0\r\n\r\n" + kSmuggled));
  to.refused("a chunk's extension with a line in quotes",
             chunked("2;a=\"\r\n{}\r\n0\r\n\r\n" + kSmuggled + "\"\r\n"));
  to.refused("a chunk's data before LF", chunked("2\r\n{}\n0\r\n\r\n" + kSmuggled));
  to.refused("a chunk longer than its size", chunked("2\r\n{}x\r\n0\r\n\r\n" + kSmuggled));
  to.refused("a chunk without a line end", chunked("2\r\n{}0\r\n\r\n" + kSmuggled));
  to.refused("a last chunk before LF", chunked("2\r\n{}\r\n0\n\n" + kSmuggled));
  to.refused("an end of LF", chunked("2\r\n{}\r\n0\r\n\n" + kSmuggled));
  to.refused("an end of CR", chunked("2\r\n{}\r\n0\r\n\r" + kSmuggled));
  to.taken("a chunk with leading zeros", chunked("0002\r\n{}\r\n000\r\n\r\n"));
  to.taken("a chunk with an extension", chunked("2;a=b;c\r\n{}\r\n0;d\r\n\r\n"));
  to.taken("a chunk with an extension in quotes", chunked("2;a=\"0\\\"\"\r\n{}\r\n0\r\n\r\n"));
  to.taken("a request in a chunk", chunked("4\r\n{  }\r\n0\r\n\r\n"), "{  }");
}

void add_trailers(SmugglingCases& to) {
  const auto with_trailer = [](const std::string& trailer) {
    return chunked("2\r\n{}\r\n0\r\n" + trailer + "\r\n\r\n");
  };
  for (const char* trailer :
       {"X-Any: trailed", "Authorization: Bearer trailed", "Cookie: trailed", "Host: trailed",
        "Once-Namespace: trailed", "Idempotency-Key: trailed", "Connection: close, trailed",
        "X-Forwarded-For: trailed", "Upgrade: trailed", "Expect: trailed",
        "Content-Type: trailed"}) {
    to.taken("a trailer "s + trailer, with_trailer(trailer));
  }
  to.refused("a length in a trailer", with_trailer("Content-Length: 90") + kSmuggled);
  to.refused("a coding in a trailer", with_trailer("Transfer-Encoding: gzip") + kSmuggled);
  to.refused("a trailer before LF", with_trailer("X: y\nZ: z") + kSmuggled);
  to.refused("a trailer before CR", with_trailer("X: y\rZ: z") + kSmuggled);
  to.refused("a trailer without a colon", with_trailer("X") + kSmuggled);
  to.refused("a trailer with a blank before its colon", with_trailer("X : y") + kSmuggled);
}

void add_hosts(SmugglingCases& to) {
  const auto with_hosts = [](const std::string& hosts) {
    return kFirstLine + hosts + "Content-Length: 2\r\n\r\n{}" + kSmuggled;
  };
  to.refused("no host", with_hosts(""));
  to.refused("two hosts", with_hosts(kHost + "Host: other\r\n"));
  to.refused("two hosts that are equal", with_hosts(kHost + kHost));
  to.refused("a blank before the host's colon", with_hosts("Host : 127.0.0.1\r\n"));
  to.refused("a host that is folded", with_hosts("Host: 127.0.0.1\r\n other\r\n"));
  for (const char* host :
       {"", "127.0.0.1, other", "127.0.0.1 other", "user@127.0.0.1", "127.0.0.1/other",
        "127.0.0.1:x", "127.0.0.1:1:2", "http://127.0.0.1", "127.0.0.1#", "127.0.0.1\\other"}) {
    to.refused("the host "s + host, with_hosts("Host: "s + host + "\r\n"));
  }
  const auto with_target = [](const std::string& target) {
    return "POST " + target + "/v1/claims/KEY HTTP/1.1\r\n" + kHost + "Content-Length: 2\r\n\r\n{}";
  };
  to.refused("a target of another host", with_target("http://other"));
  to.refused("a target of another port", with_target("http://127.0.0.1:1"));
  to.refused("a target of a user", with_target("http://user@127.0.0.1"));
  to.taken("a target of the same host", with_target("http://127.0.0.1"));
  to.add({"a target that is no path", "GET nonsense HTTP/1.1\r\n" + kHost + "\r\n", 404,
          Then::stays, "", 400});
  to.add({"a target after an at", "GET @other/v1/claims/KEY HTTP/1.1\r\n" + kHost + "\r\n", 404,
          Then::stays, "", 400});
}

void add_lines(SmugglingCases& to) {
  const auto with_field = [](const std::string& field) {
    return post(field + "\r\nContent-Length: 2\r\n", "{}" + kSmuggled);
  };
  to.refused("lines that end with LF",
             "POST /v1/claims/KEY HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 2\n\n{}");
  to.refused("lines that end with CR",
             "POST /v1/claims/KEY HTTP/1.1\rHost: 127.0.0.1\rContent-Length: 2\r\r{}");
  to.refused("LF in a value", with_field("X: y\nTransfer-Encoding: chunked"));
  to.refused("CR in a value", with_field("X: y\rTransfer-Encoding: chunked"));
  to.refused("CR before a line end", with_field("X: y\r"));
  to.refused("LF before a line end", with_field("X: y\n"));
  to.refused("LF before a name", with_field("\nTransfer-Encoding: chunked"));
  to.refused("a name before CR LF and its colon", with_field("Transfer-Encoding\r\n: chunked"));
  to.refused("an end of LF LF", post("Content-Length: 2\r\nX: y\n", "{}" + kSmuggled));
  to.refused("an end of CR LF LF", kFirstLine + kHost + "Content-Length: 2\r\n\n{}" + kSmuggled);
  to.refused("an end of LF CR LF", kFirstLine + kHost + "Content-Length: 2\n\r\n{}" + kSmuggled);
  to.refused("a folded value", with_field("X: y\r\n z"));
  to.refused("a value folded by a tab", with_field("X: y\r\n\tz"));
  to.refused("a folded coding", with_field("Transfer-Encoding:\r\n chunked"));
  to.refused("a folded length", post("Content-Length: 2\r\n 0\r\n", "{}" + kSmuggled));
  to.refused("a first field that is folded", kFirstLine + " " + kHost + "\r\n");
  to.refused("a blank before a colon", with_field("X : y"));
  to.refused("a blank before the coding's colon", with_field("Transfer-Encoding : chunked"));
  to.refused("a tab before the coding's colon", with_field("Transfer-Encoding\t: chunked"));
  to.refused("a blank before the length's colon", post("Content-Length : 2\r\n", "{}" + kSmuggled));
  to.refused("a blank in a name", with_field("X Y: z"));
  to.refused("no colon", with_field("X"));
  to.refused("no name", with_field(": y"));
  to.refused("NUL in a value", with_field("X: y"s + '\0'));
  to.refused("NUL in a name", with_field("X"s + '\0' + ": y"));
  to.refused("a name that is not ASCII", with_field("Transfer-Encoding\xc2\xa0: chunked"));
  to.refused("a name in brackets", with_field("[X]: y"));
  to.refused("an empty line before the request", "\r\n" + post("Content-Length: 2\r\n", "{}"));
  const auto first_line = [](const std::string& line) {
    return line + "\r\n" + kHost + "Content-Length: 2\r\n\r\n{}" + kSmuggled;
  };
  for (const char* line :
       {"POST  /v1/claims/KEY HTTP/1.1", "POST\t/v1/claims/KEY HTTP/1.1",
        "POST /v1/claims/KEY\tHTTP/1.1", "POST /v1/claims/KEY HTTP/1.1 ",
        " POST /v1/claims/KEY HTTP/1.1", "POST /v1/claims/KEY HTTP/1.2",
        "POST /v1/claims/KEY HTTP/2.0", "POST /v1/claims/KEY HTTP/0.9",
        "POST /v1/claims/KEY HTTP/1.10", "POST /v1/claims/KEY http/1.1", "POST /v1/claims/KEY",
        "POST /v1/claims/KEY x HTTP/1.1", "POST: /v1/claims/KEY HTTP/1.1",
        "P(ST /v1/claims/KEY HTTP/1.1", "POST  HTTP/1.1"}) {
    to.refused("the line "s + line, first_line(line));
  }
}

std::vector<SmugglingCase> smuggling_cases() {
  SmugglingCases cases;
  add_two_framings(cases);
  add_lengths(cases);
  add_chunks(cases);
  add_trailers(cases);
  add_hosts(cases);
  add_lines(cases);
  return std::move(cases).all();
}

// The case's bytes with a key of its own.
std::string bytes_with_key(const SmugglingCase& one, const std::string& key) {
  std::string bytes = one.bytes;
  const std::size_t at = bytes.find("KEY");
  return at == std::string::npos ? bytes : bytes.replace(at, 3, key);
}

enum class Pieces : std::uint8_t { one, bytes };

constexpr std::string_view kProbe = "GET /v1/claims/probe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

// Sends the case, and looks at its first answer and at what the connection does then.
void expect_answer(std::uint16_t port, const std::string& bytes, Pieces pieces, int status,
                   Then then, int probe_status) {
  RawHttp peer(port);
  for (const char& byte : bytes) {
    if (pieces == Pieces::one) break;
    if (!peer.send(std::string_view(&byte, 1))) break;
  }
  if (pieces == Pieces::one) peer.send(bytes);
  const auto first = peer.receive();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->status, status) << first->body;
  EXPECT_EQ(first->header("Connection"), then == Then::closes ? "close" : "");
  if (then == Then::stays) peer.send(kProbe);
  const auto second = peer.receive();
  EXPECT_EQ(second ? second->status : 0, then == Then::stays ? probe_status : 0);
}

TEST(Smuggling, H42_NothingThatTwoServersCouldReadDifferentlyIsARequest) {
  const ServerProcess server("memory:");
  const std::vector<SmugglingCase> cases = smuggling_cases();
  ASSERT_GE(cases.size(), 60U);
  int number = 0;
  for (const Pieces pieces : {Pieces::one, Pieces::bytes}) {
    for (const SmugglingCase& one : cases) {
      SCOPED_TRACE(one.name);
      const std::string key = "k" + std::to_string(++number);
      expect_answer(server.port(), bytes_with_key(one, key), pieces, one.status, one.then, 404);
      RawHttp after(server.port());
      EXPECT_EQ(after.call("GET", "/v1/claims/smuggled")->status, 404);
      EXPECT_EQ(after.call("GET", "/v1/claims/" + key)->status, one.status == 201 ? 200 : 404);
    }
  }
}

// Keeps the requests that reach it, other than probes.
class RecordingUpstream {
 public:
  std::string url() const { return upstream_.url(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(upstream_.port()); }

  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  std::string answer(const std::string& request) {
    if (request.starts_with("GET /v1/claims/probe ")) return http_answer("200 OK", "probe");
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    return http_answer("201 Created", "taken");
  }

  std::mutex mutex_;
  std::vector<std::string> requests_;
  Upstream upstream_{[this](const std::string& request, int) { return answer(request); }};
};

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// How often a line of the header begins with it.
int fields_named(const std::string& header, const std::string& name) {
  int count = 0;
  for (std::size_t at = 0; (at = header.find("\r\n" + name, at)) != std::string::npos; ++at)
    ++count;
  return count;
}

// What the proxy wrote: one request, framed by one length, with nothing of another framing in it.
void expect_own_framing(const std::string& request, const std::string& host,
                        const std::string& body) {
  const std::size_t end = request.find("\r\n\r\n") + 4;
  const std::string header = lowered(request.substr(0, end));
  EXPECT_EQ(request.substr(end), body);
  EXPECT_NE(header.find("\r\ncontent-length: " + std::to_string(body.size()) + "\r\n"),
            std::string::npos);
  EXPECT_EQ(fields_named(header, "content"), 1) << header;
  EXPECT_EQ(fields_named(header, "transfer"), 0) << header;
  EXPECT_EQ(fields_named(header, "te:"), 0) << header;
  EXPECT_EQ(fields_named(header, "host: " + host + "\r\n"), 1) << header;
  EXPECT_EQ(fields_named(header, "host"), 1) << header;
  EXPECT_EQ(header.find("trailed"), std::string::npos) << header;
  EXPECT_NE(header.find(" /"), std::string::npos) << header;
  EXPECT_EQ(header.find("http://"), std::string::npos) << header;
}

TEST(Smuggling, H42_NothingSmuggledReachesAnUpstreamAndTheProxyWritesItsOwnFraming) {
  RecordingUpstream upstream;
  const ProxyProcess proxy(upstream.url(), "memory:");
  ASSERT_TRUE(proxy.running()) << proxy.ready_line();
  for (const Pieces pieces : {Pieces::one, Pieces::bytes}) {
    for (const SmugglingCase& one : smuggling_cases()) {
      SCOPED_TRACE(one.name);
      const int status = one.proxy_status != 0 ? one.proxy_status : one.status;
      expect_answer(proxy.port(), bytes_with_key(one, "k"), pieces, status, one.then, 200);
      const std::vector<std::string> reached = upstream.take();
      ASSERT_EQ(reached.size(), status == 201 ? 1U : 0U);
      if (status == 201) expect_own_framing(reached.front(), upstream.host(), one.body);
    }
  }
}

}  // namespace
}  // namespace once::testing

// Decides who may ask, before anything else looks at a request. A browser lets any web page send
// requests to this server, and says in Origin and Sec-Fetch-Site which page it was. Host says by
// which name the server was reached: a page whose own name was made to resolve to this machine
// reaches it by that name. What is no browser sends neither Origin nor Sec-Fetch-Site.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_value.h"
#include "once/error.h"
#include "wire/message.h"

namespace once::server {

// A name or an address, with or without a port. In lower case; an IPv6 address in its shortest form
// and without brackets.
struct HostName {
  std::string name;
  std::string port;  // Empty: none was given.

  friend bool operator==(const HostName&, const HostName&) = default;
};

// "once.example", "127.0.0.1:7600", "[::1]:7600". Nothing for any other text.
std::optional<HostName> parse_host(std::string_view text);

// Where a page comes from. The port is empty if it is that of the scheme.
struct Origin {
  std::string scheme;
  HostName host;

  friend bool operator==(const Origin&, const Origin&) = default;
};

// "https://app.example", "http://localhost:3000". Nothing for any other text, "null" included.
std::optional<Origin> parse_origin(std::string_view text);

struct BrowserRules {
  bool judges = true;           // False: everything passes. For a proxy, whose upstream decides.
  bool any_host = false;        // Host may be any name.
  std::vector<Origin> origins;  // Pages of these may call, besides the server's own.
  std::vector<HostName> hosts;  // Names of this server, besides its address and those of loopback.
};

// Why a request is refused.
enum class BrowserRefusal : std::uint8_t {
  origin,      // A page of another origin sent it.
  cross_site,  // A page of another site sent it, and no Origin says which.
  host,        // It is for a name that this server does not have.
};
inline constexpr std::array<std::string_view, 3> kBrowserRefusals = {"origin", "cross_site",
                                                                     "host"};

struct Verdict {
  std::optional<BrowserRefusal> refusal;
  std::string headers;  // Lines that every answer to the request gets, whatever it is.
};

// Safe to share between threads, once listens_on() was called.
class Judgement {
 public:
  explicit Judgement(BrowserRules rules)
      : judges_(rules.judges), rules_(std::make_shared<const BrowserRules>(std::move(rules))) {}

  // From the next request on. Whether it judges at all stays as it was.
  void set_rules(BrowserRules rules) {
    rules_.store(std::make_shared<const BrowserRules>(std::move(rules)));
  }

  // The address that the server listens on, as text, and its scheme: http or https. To be called
  // before the first request.
  void listens_on(std::string_view address, std::string_view scheme = "http");

  // `reached` is the address of this machine that the connection was made to.
  Verdict judge(const wire::Request& head, std::string_view reached);

  bool judges() const { return judges_; }
  std::uint64_t refused(BrowserRefusal why) const {
    return refused_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }

 private:
  bool has_name(const BrowserRules& rules, const HostName& host, std::string_view reached) const;
  Verdict refuse(BrowserRefusal why);

  const bool judges_;
  SharedValue<BrowserRules> rules_;
  std::string listening_;
  std::string scheme_;
  std::array<std::atomic<std::uint64_t>, kBrowserRefusals.size()> refused_{};
};

wire::Response refusal_of(BrowserRefusal why);

}  // namespace once::server

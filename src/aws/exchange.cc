#include "aws/exchange.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "aws/transfers.h"

namespace once::aws {
namespace {

static_assert(CURL_ERROR_SIZE <= 256);

// Servers close connections that were idle for about a minute. If one closes just as we use it, the
// outcome is unknown.
constexpr long kLongestIdleSeconds = 30;

}  // namespace

Exchange::Exchange() : handle_(curl_easy_init()) {
  if (handle_ == nullptr) std::abort();  // Only where memory has run out.
}

Exchange::~Exchange() {
  curl_slist_free_all(lines_);
  curl_easy_cleanup(handle_);
}

void Exchange::begin(const Transfer& transfer, const TransferOptions& options, Clock& clock,
                     long timeout_ms) {
  clock_ = &clock;
  sent_ = clock.now();
  curl_easy_reset(handle_);
  left_ = transfer.body;
  response_ = {};
  response_limit_ = options.response_limit;
  sendings_ = 0;
  head_ended_ = false;
  too_large_ = false;
  reason_.fill('\0');

  const auto set = [this](auto option, auto value) { curl_easy_setopt(handle_, option, value); };
  set(CURLOPT_ERRORBUFFER, reason_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // A resolver that hangs does not hold up the others.
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  set(CURLOPT_URL, transfer.url.c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!options.ca_file.empty()) set(CURLOPT_CAINFO, options.ca_file.c_str());
  if (!options.may_use_proxy) set(CURLOPT_PROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  set(CURLOPT_TIMEOUT_MS, timeout_ms);
  set(CURLOPT_MAXAGE_CONN, kLongestIdleSeconds);
  set(CURLOPT_PREREQFUNCTION, &Exchange::before_sending);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_HEADERFUNCTION, &Exchange::take_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Exchange::take_body);
  set(CURLOPT_WRITEDATA, this);
  set_method(transfer);
  set_headers(transfer.headers);
}

// No seek callback, on purpose: see transfers.h.
void Exchange::set_method(const Transfer& transfer) {
  const std::string& method = transfer.method;
  if (method == "HEAD") {
    curl_easy_setopt(handle_, CURLOPT_NOBODY, 1L);
  } else if (method == "POST" || method == "PUT" || !transfer.body.empty()) {
    curl_easy_setopt(handle_, CURLOPT_POST, 1L);
    curl_easy_setopt(handle_, CURLOPT_READFUNCTION, &Exchange::read_body);
    curl_easy_setopt(handle_, CURLOPT_READDATA, this);
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(transfer.body.size()));
  }
  if (method != "HEAD") curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, method.c_str());
}

void Exchange::set_headers(const std::vector<Header>& headers) {
  curl_slist_free_all(std::exchange(lines_, nullptr));
  // Headers that libcurl adds by itself and that are not signed. Expect would cost a round trip.
  for (const char* unwanted : {"Accept:", "Expect:"}) lines_ = curl_slist_append(lines_, unwanted);
  if (header_of(headers, "Content-Type").empty()) {
    lines_ = curl_slist_append(lines_, "Content-Type:");
  }
  for (const Header& header : headers) {
    std::string line = header.name;
    // An empty value is written with a semicolon; with a colon it would mean "leave it out".
    if (header.value.empty()) {
      line += ';';
    } else {
      line.append(": ").append(header.value);
    }
    lines_ = curl_slist_append(lines_, line.c_str());
  }
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, lines_);
}

Result<Response> Exchange::end(int result) {
  // libcurl takes a reply that ends within its headers for a whole one.
  if (result == CURLE_OK && !head_ended_) result = CURLE_PARTIAL_FILE;
  if (result != CURLE_OK) return std::unexpected(error_of(result));
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  response_.status = static_cast<int>(status);
  return std::exchange(response_, {});
}

Error Exchange::error_of(int result) const {
  std::string why = reason_.front() == '\0'
                        ? std::string(curl_easy_strerror(static_cast<CURLcode>(result)))
                        : std::string(reason_.data());
  if (sendings_ == 0) return {ErrorCode::unavailable, std::move(why)};
  if (too_large_) why = "the answer is larger than allowed";
  if (sendings_ > 1) why = "the connection was closed before a reply";
  return {ErrorCode::unknown, std::move(why)};
}

std::size_t Exchange::read_body(char* into, std::size_t size, std::size_t count, void* self) {
  std::string_view& left = static_cast<Exchange*>(self)->left_;
  const std::size_t length = std::min(left.size(), size * count);
  std::memcpy(into, left.data(), length);
  left.remove_prefix(length);
  return length;
}

std::size_t Exchange::take_header(char* line, std::size_t size, std::size_t count, void* self) {
  const std::string_view text(line, size * count);
  auto& exchange = *static_cast<Exchange*>(self);
  std::vector<Header>& headers = exchange.response_.headers;
  exchange.head_ended_ = trimmed(text).empty();
  const std::size_t colon = text.find(':');
  if (text.starts_with("HTTP/")) {
    headers.clear();  // Those before were of an interim answer.
  } else if (colon != std::string_view::npos) {
    headers.push_back({std::string(trimmed(text.substr(0, colon))),
                       std::string(trimmed(text.substr(colon + 1)))});
  }
  return size * count;
}

std::size_t Exchange::take_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& exchange = *static_cast<Exchange*>(self);
  std::string& body = exchange.response_.body;
  exchange.too_large_ = size * count > exchange.response_limit_ - body.size();
  if (exchange.too_large_) return 0;
  body.append(bytes, size * count);
  return size * count;
}

int Exchange::before_sending(void* self, char* /*from*/, char* /*to*/, int /*from_port*/,
                             int /*to_port*/) {
  auto& exchange = *static_cast<Exchange*>(self);
  exchange.sent_ = exchange.clock_->now();
  return ++exchange.sendings_ == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

}  // namespace once::aws
